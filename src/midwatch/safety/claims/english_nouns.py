"""English: nouns that name nothing in particular, sorts of things, and words for how a thing is."""

from typing import Final

from midwatch.safety.claims.actions import word_set

GENERIC: Final = word_set("""
a an the this that these those its their our my your his her some any all both each every few several many other others
another same such one two three four five six seven eight nine ten dozen pair couple first second third last next
service services pod pods container containers deployment deployments node nodes server servers host hosts vm vms
machine machines process processes instance instances replica replicas replicaset statefulset daemonset database
databases db cache caches cluster clusters app apps application applications job jobs task tasks worker workers queue
queues disk disks volume volumes file files log logs config configs configuration configurations setting settings limit
limits memory cpu version versions release releases change changes fix fixes patch patches issue issues problem problems
incident incidents alert alerts alarm alarms system systems stack component components resource resources workload
workloads connection connections pool pools session sessions secret secrets certificate certificates cert certs rule
rules policy policies balancer traffic network firewall data table tables index indexes indices user users account
accounts backup backups snapshot snapshots image images tag tags namespace environment production prod staging unit
daemon proxy gateway backend frontend web site website api endpoint endpoints leader follower primary secondary main
standby controller scheduler operator pipeline build builds function functions lambda consumer consumers producer broker
partition partitions topic topics lock locks thread threads query queries transaction transactions request requests
stuck failing failed affected old older oldest stale temporary temp tmp unhealthy healthy faulty offending bad broken
new newer latest previous current entire whole remaining above following related relevant unused orphaned dangling
rolling graceful clean successful quick full partial forced hard soft manual safe controlled complete emergency
necessary required appropriate corrective remedial immediate needed suggested recommended proposed simple
it them itself themselves everything anything something things thing stuff what which
space size count number amount value values parameter parameters variable variables key keys credentials credential
password passwords token tokens timeout timeouts threshold thresholds port ports page load usage
underlying root cause error errors failure failures outage downtime situation condition leak command commands script
action actions step steps operation operations procedure playbook runbook remediation cleanup
high low maximum max min minimum heap buffer bytes gb mb gib mib percent
back up down out in on off over online offline again now too also just once twice more less well
large largest big biggest small extra additional excess long longest runaway zombie hung idle dead flaky noisy rogue
bloated leaky problematic busy overloaded defective erroneous suspicious malicious heavy hot cold empty public private
internal external critical minor major single individual specific particular
looping flapping spinning stalling lagging struggling erroring throwing consuming causing growing using missing
conflicting competing lingering terminating pending waiting starving thrashing serving underperforming overheating
responding resulting ongoing incoming outgoing upcoming hanging leaking blocking running misbehaving rotating
me us you him team oncall engineer owner owners channel person people ticket pr pull message notification email sre
on-call read-only out-of-memory long-running high-memory load-balancer misconfigured non-responsive dead-letter
misbehaving crashed crashing slow duplicate corrupt corrupted expired expiring outdated wrong incorrect correct
initial existing local remote default original actual respective corresponding various certain core tier whole
dump dumps entry entries record records row rows item items object objects directory folder path paths
autoscaler hpa ingress egress rollout revision canary baseline schedule cron timer feature flag flags line lines
shard segment broker listener shipper sidecar client publisher subscriber reader writer master peer exporter collector
forwarder ingester router link interface zone region route domain hostname mount share bucket blob layer chart runner
stage hook webhook trigger migration schema view sequence document collection offset stream exchange letter letters
toggle experiment grant mutex semaphore lease ttl dns indices record records secondary slave ranges range buffers batch
earlier later meantime meanwhile morning evening night afternoon yesterday tomorrow tonight time times moment day week
month ago soon precaution result end beginning start
group groups set sets role roles permission permissions member members minute minutes hour hours second seconds today
""")
KINDS: Final = {
    noun: group
    for group, nouns in {
        "work": "service services pod pods container containers deployment deployments app application applications "
        "workload "
        "workloads release unit daemon replicas replica statefulset process processes component",
        "host": "node nodes host hosts vm vms machine machines hypervisor box",
        "server": "server servers instance instances",
        "database": "database databases db table tables index replica primary",
        "cache": "cache caches",
        "queue": "queue queues topic topics",
        "disk": "disk disks volume volumes filesystem partition file files log logs",
        "volume": "pvc pvcs pv pvs",
        "config": "config configuration configmap settings setting limit limits flag",
        "job": "job jobs task tasks cron cronjob worker workers",
        "certificate": "certificate certificates cert credentials secret key",
        "cluster": "cluster clusters pool stack",
    }.items()
    for noun in nouns.split()
}
WELL: Final = word_set("""
running healthy up available online ready stable operational normal ok okay fine active reachable responding responsive
serving working functional green recovered restored resolved back nominal alive passing succeeding accessible cleared
synced connected established
""")
ILL: Final = word_set("""
down stopped unhealthy unavailable offline unreachable unresponsive dead inactive degraded failing broken crashed
crashing crashlooping frozen hung stuck saturated exhausted full overloaded inaccessible disconnected corrupted
""")
SEEN_WELL: Final = word_set("success succeeded 200 true 1/1 2/2 3/3 started restored below")
SEEN_ILL: Final = word_set("""
fail error refused timeout timed crashloopbackoff notready oomkilled false 0/1 0/2 0/3 exited 503 502 500 100%
terminated killed backoff
""")
