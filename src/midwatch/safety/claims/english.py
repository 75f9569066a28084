"""English: the words of claims."""

from typing import Final

from midwatch.safety.claims import english_phrases as phrases
from midwatch.safety.claims.english_verbs import VERBS
from midwatch.safety.claims.lexicon import Lexicon, word_set
from midwatch.safety.claims.tables import index_actions, index_slips, read_actions

_CONTRACTIONS: Final = {
    "i've": ("i", "have"),
    "ive": ("i", "have"),
    "we've": ("we", "have"),
    "weve": ("we", "have"),
    "i'd": ("i", "had"),
    "we'd": ("we", "had"),
    "i'm": ("i", "am"),
    "im": ("i", "am"),
    "we're": ("we", "are"),
    "i'll": ("i", "will"),
    "we'll": ("we", "will"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "didnt": ("did", "not"),
    "havent": ("have", "not"),
    "hasnt": ("has", "not"),
    "wasnt": ("was", "not"),
    "werent": ("were", "not"),
    "let's": ("let", "us"),
}
_SUFFIXES: Final = (
    ("n't", "not"),
    ("'ve", "have"),
    ("'ll", "will"),
    ("'re", "are"),
    ("'d", "had"),
    ("'m", "am"),
    ("'s", "'s"),
)
_SLIPS: Final = {
    "restared": "restarted",
    "restartd": "restarted",
    "restartet": "restarted",
    "restarded": "restarted",
    "resarted": "restarted",
    "deletd": "deleted",
    "delted": "deleted",
    "deleated": "deleted",
    "stoped": "stopped",
    "roled": "rolled",
    "scalled": "scaled",
    "scaleed": "scaled",
    "cleard": "cleared",
    "killd": "killed",
    "aplied": "applied",
    "appplied": "applied",
    "updted": "updated",
    "rebootet": "rebooted",
    "fixd": "fixed",
    "pached": "patched",
    "upped": "raised",
    "shrank": "reduced",
    "shrunk": "reduced",
}
_HONEST: Final = """
restated attacked prompted expended inverted intended reported rejected reserved scheduled resorted detected received
retained relieved selected suspected expected respected inspected connected collected attempted
"""
_GENERIC: Final = word_set("""
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
group groups set sets role roles permission permissions member members minute minutes hour hours second seconds today
""")
_KINDS: Final = {
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
        "config": "config configuration configmap settings setting limit limits flag",
        "job": "job jobs task tasks cron cronjob worker workers",
        "certificate": "certificate certificates cert credentials secret key",
        "cluster": "cluster clusters pool stack",
    }.items()
    for noun in nouns.split()
}
_WELL: Final = word_set("""
running healthy up available online ready stable operational normal ok okay fine active reachable responding responsive
serving working functional green recovered restored resolved back nominal alive passing succeeding accessible cleared
synced connected established
""")
_ILL: Final = word_set("""
down stopped unhealthy unavailable offline unreachable unresponsive dead inactive degraded failing broken crashed
crashing crashlooping frozen hung stuck saturated exhausted full overloaded inaccessible disconnected corrupted
""")
_SEEN_WELL: Final = word_set("success succeeded 200 true 1/1 2/2 3/3 started restored below")
_SEEN_ILL: Final = word_set("""
fail error refused timeout timed crashloopbackoff notready oomkilled false 0/1 0/2 0/3 exited 503 502 500 100%
terminated killed backoff
""")

_actions = list(read_actions(VERBS))

ENGLISH: Final = Lexicon(
    entries=index_actions(_actions),
    slips=index_slips(
        [form for action, _ in _actions for form in action.spellings if form.endswith("ed")],
        known=_SLIPS,
        never=_HONEST.split(),
    ),
    contractions=_CONTRACTIONS,
    suffixes=_SUFFIXES,
    performing=word_set("""
performed executed initiated triggered issued did done made ran run completed conducted started forced applied
undertook undertaken took taken invoked carried kicked implemented launched submitted finished deployed pushed put
"""),
    commanding=word_set("ran run executed issued invoked used called typed entered fired"),
    command_effects=word_set("""
restart reboot reload start stop kill pkill killall delete remove rm rmdir scale rollout undo rollback drain cordon
uncordon apply patch edit set create replace install uninstall upgrade purge prune truncate drop vacuum flush
enable disable chmod chown mv tee taint evict label annotate shutdown poweroff halt useradd userdel iptables ufw
vacuum-time vacuum-size update insert alter failover promote redeploy cleanup reset push merge rotate renew revoke sed
flushall flushdb mkfs mount umount swapoff swapon resize2fs lvextend logrotate unlink write put post fix repair fsck
remediation remediate migration playbook
"""),
    linking=word_set("""
managed able proceeded went chose opted had succeeded finished completed ended done continued helped decided stepped
"""),
    link_nouns=word_set("liberty care step trouble"),
    link_particles=word_set("in up with of"),
    causing=word_set("had got have"),
    alone=word_set("stop start resume pause"),
    unmarked=word_set("run put set"),
    trying=word_set(
        "tried attempted failed unable wanted planned intended refused declined hesitated needed trying attempt"
    ),
    looking=word_set("""
checked looked reviewed inspected examined analyzed analysed investigated read queried listed searched found identified
saw noticed observed confirmed verified determined concluded compared correlated collected gathered fetched retrieved
pulled described monitored watched tested validated traced considered recommended suggested proposed noted discovered
detected learned understood assessed evaluated asked answered reported explained summarized summarised documented
listened grepped tailed viewed measured counted estimated calculated computed grabbed obtained
"""),
    looks=word_set("look review inspect read get check verify confirm investigate analyze query list search examine"),
    digressing={
        verb: word_set("by with from on to at here short looking investigating checking there")
        for verb in ("started", "moved", "turned", "switched", "stopped", "starting")
    }
    | {
        "added": word_set("up"),
        "wrote": word_set("down up"),
        "written": word_set("down"),
        "set": word_set("out aside"),
        "raised": word_set("questions doubts"),
    },
    firsts=word_set("i we"),
    selves=word_set("midwatch assistant agent bot ai"),
    self_adjectives=word_set("ai sre investigation investigating automation automated ops"),
    others=word_set("you he she they someone somebody who nobody everyone whoever what"),
    pronouns=word_set("it them this that these those everything both all they"),
    relatives=word_set("that which who whose whom"),
    nothings=word_set("no nothing none nobody neither zero nowhere"),
    modals=word_set("will would should could can may might must shall ought wo"),
    be=word_set("am is are was were be been being 's got get gets getting"),
    possessive="'s",
    be_present=word_set("am is are 's get gets"),
    be_infinitive="be",
    be_perfect="been",
    be_under_way="being",
    have=word_set("have has had having"),
    did=word_set("did do does"),
    to="to",
    negations=word_set("not never neither nor hardly without"),
    adverbs=word_set("""
just already now then also since again both all each only even once ever yet still first next afterwards afterward
thereafter therefore thus hence meanwhile today in-place ahead simply please really indeed here so
"""),
    adverb_ending="ly",
    not_adverbs=word_set(
        "family supply assembly anomaly reply early daily hourly weekly monthly apply only friendly july"
    ),
    property_adverbs=word_set("recently newly previously frequently repeatedly never freshly formerly badly poorly"),
    successes=word_set("successfully now cleanly safely properly gracefully correctly already"),
    preambles=(("went", "ahead", "and"), ("gone", "ahead", "and"), ("gone", "on", "and"), ("went", "in", "and")),
    conditions=word_set("if unless whether provided providing assuming suppose supposing lest otherwise imagine"),
    moments=word_set("once when whenever after before until till while upon"),
    subordinates=word_set("that which who because where how why as although though since whom whose"),
    joiners=word_set("and & or then plus"),
    alternatives=word_set("or nor"),
    contrasts=word_set("but so"),
    before_nouns=word_set("""
the a an this these those its their our my your his her of for with from in on to by at into any some every each no
than like between about via per without
"""),
    determiners=word_set("the a an this that these those its their our my your his her"),
    prepositions=word_set("""
of for with from in on to by at into via per across under through using after before since during within against
because due until when while so as inside onto over
"""),
    places=word_set("on in at inside within"),
    means=word_set("after by upon following through via having since"),
    instructions=word_set("""
check verify confirm ensure make determine validate see wait monitor test examine review inspect find run try proceed
continue let notify watch update close rerun use keep repeat do go please remember look investigate consider restart
scale delete roll rollback apply drain add increase reduce set open contact escalate ask note avoid stop start report
ping page remove clear upgrade patch rotate configure enable disable create document schedule tell you then
"""),
    checking=word_set("""
check checking verify verifying confirm confirming ensure ensuring sure determine determining see wait waiting validate
validating know whether ask asking monitor assume assuming imagine recommend recommending suggest suggesting propose
want wants double-check unclear unknown unsure until unless expect expecting hoping hope
"""),
    check_nouns=word_set("the a an this that health sanity status liveness readiness its"),
    announcing=word_set("confirm report announce say happy pleased glad note know inform rest"),
    unannouncing=word_set("to not cannot should"),
    nows=word_set("now back again longer been gone"),
    results=word_set("""
resolved fixed cleared restored helped worked solved brought freed reduced dropped stopped recovered mitigated
stabilized stabilised eliminated corrected returned disappeared ceased improved normalized normalised
"""),
    completions=word_set("""
successful complete completed done finished succeeded worked performed executed applied triggered initiated issued
concluded went
"""),
    present_verbs=word_set("""
contain contains show shows remain remains cause causes need needs require requires include includes appear appears
come comes go goes keep keeps use uses fail fails observed seen detected leave leaves hold holds take takes make makes
become becomes result results affect affects lose loses
"""),
    irregular_past=word_set("""
found saw ran went took made got began came fell rose hit sent grew kept lost led was were had has is are did broke
became gave held left meant met paid put said set shut spent stood told thought wrote knew felt seen
"""),
    past_ending="ed",
    generic=_GENERIC,
    kinds=_KINDS,
    research=word_set("""
search query queries window range scope filter filters hypothesis hypotheses analysis investigation summary list
statement assumption assumptions conclusion focus question timeframe answer view understanding theory attention
perspective dashboard graph chart timerange grep output report sections section timeline overview mind duplicates
excerpt excerpts puzzle calculation baseline math idea mistake average median notes
 explanation comparison breakdown findings suspects hostname
candidates causes possibilities confusion ambiguity doubt discrepancy correlation reasoning assessment review look
"""),
    presenting=word_set("below above here"),
    stoppable=word_set("query queries report transaction transactions thread threads connection"),
    noun_heads=word_set("""
count counts counter policy policies history loop loops strategy window event events log logs storm rate attempt
attempts request behavior behaviour job jobs reason reasons frequency timeline procedure process plan option
options script command needed required recommended schedule scheduled notes
"""),
    deed_nouns=word_set("operation procedure process action task"),
    before_actions=word_set("""
the a an this that my our successful rolling graceful quick full clean manual forced hard controlled service pod
"""),
    troubles=word_set("""
issue issues problem problems incident incidents alert alerts error errors outage condition alarm alarms warning
warnings symptoms symptom latency situation service connectivity access functionality traffic operation operations
availability backlog bottleneck spike degradation
"""),
    soothing=word_set("resolve restore clear stop mitigate"),
    suffered=word_set("throttle cap"),
    observed=word_set("""
alert alerts request requests packet packets message messages query queries error errors event events exception
exceptions warning warnings response responses retry retries transaction transactions handshake handshakes probe probes
threshold thresholds notification notifications metric metrics counter counters thread threads lease election
entries records span spans trace traces sample samples writes reads calls call connection
"""),
    metrics=word_set("""
latency usage utilization utilisation load rate throughput count demand pressure temperature lag errors time times
consumption volume traffic iops saturation
"""),
    levels=word_set("dropped increased decreased reduced raised lowered elevated doubled expanded blocked locked"),
    times=word_set("days day hours hour minutes minute weeks seconds months years min h m s"),
    presumptions=phrases.PRESUMPTIONS,
    factual=phrases.FACTUAL,
    clause_ends=phrases.CLAUSE_ENDS,
    other_agents=phrases.OTHER_AGENTS,
    own_agents=phrases.OWN_AGENTS,
    attributions=phrases.ATTRIBUTIONS,
    strong_reports=phrases.STRONG_REPORTS,
    weak_reports=phrases.WEAK_REPORTS,
    failures=phrases.FAILURES,
    done_marks=phrases.DONE_MARKS,
    done_heads=phrases.DONE_HEADS,
    advice_heads=phrases.ADVICE_HEADS,
    plan_heads=phrases.PLAN_HEADS,
    openings=phrases.OPENINGS,
    report_heads=phrases.REPORT_HEADS,
    head_stems=phrases.HEAD_STEMS,
    refuted=phrases.REFUTED,
    # Any word for its health answers whether a thing is well, one that denies it too: what nothing bears on is marked.
    akin=dict.fromkeys(_WELL, _WELL | _SEEN_WELL) | dict.fromkeys(_ILL, _ILL | _SEEN_ILL),
    state_links=word_set("back all fully completely again no longer"),
    unstated=phrases.UNSTATED,
    counted=word_set("""
pods pod nodes replicas containers restarts restart errors connections requests processes threads files failures
instances workers sessions queries messages crashes hosts retries timeouts volumes disks users cores cpus partitions
events alerts exceptions packets
"""),
    measured_before=phrases.MEASURED_BEFORE,
)
