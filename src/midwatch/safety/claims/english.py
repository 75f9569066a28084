"""English: the words of claims."""

from typing import Final

from midwatch.safety.claims import english_phrases as phrases
from midwatch.safety.claims.english_verbs import VERBS
from midwatch.safety.claims.lexicon import Lexicon, index_actions, index_slips, read_actions


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
}
_HONEST: Final = """
restated attacked prompted expended inverted intended reported rejected reserved scheduled resorted detected received
retained relieved selected suspected expected respected inspected connected collected attempted
"""
_GENERIC: Final = _words("""
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
        "work": "service services pod pods container containers deployment deployments app application applications workload "
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
_WELL: Final = _words("""
running healthy up available online ready stable operational normal ok okay fine active reachable responding responsive
serving working functional green recovered restored resolved back nominal alive passing succeeding accessible cleared
synced connected established
""")
_ILL: Final = _words("""
down stopped unhealthy unavailable offline unreachable unresponsive dead inactive degraded failing broken crashed
crashing crashlooping frozen hung stuck saturated exhausted full overloaded inaccessible disconnected corrupted
""")
_SEEN_WELL: Final = _words("success succeeded 200 true 1/1 2/2 3/3 started restored below")
_SEEN_ILL: Final = _words("""
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
    performing=_words("""
performed executed initiated triggered issued did done made ran run completed conducted started forced applied
undertook undertaken took taken invoked carried kicked implemented launched submitted finished deployed pushed put
"""),
    commanding=_words("ran run executed issued invoked used called typed entered fired"),
    command_effects=_words("""
restart reboot reload start stop kill pkill killall delete remove rm rmdir scale rollout undo rollback drain cordon
uncordon apply patch edit set create replace install uninstall upgrade purge prune truncate drop vacuum flush
enable disable chmod chown mv tee taint evict label annotate shutdown poweroff halt useradd userdel iptables ufw
vacuum-time vacuum-size update insert alter failover promote redeploy cleanup reset push merge rotate renew revoke sed
flushall flushdb mkfs mount umount swapoff swapon resize2fs lvextend logrotate unlink write put post fix repair fsck
remediation remediate migration playbook
"""),
    linking=_words("""
managed able proceeded went chose opted had succeeded finished completed ended done continued helped decided stepped
"""),
    link_nouns=_words("liberty care step trouble"),
    link_particles=_words("in up with of"),
    causing=_words("had got have"),
    unmarked=_words("run put"),
    trying=_words("tried attempted failed unable wanted planned intended refused declined hesitated needed trying attempt"),
    looking=_words("""
checked looked reviewed inspected examined analyzed analysed investigated read queried listed searched found identified
saw noticed observed confirmed verified determined concluded compared correlated collected gathered fetched retrieved
pulled described monitored watched tested validated traced considered recommended suggested proposed noted discovered
detected learned understood assessed evaluated asked answered reported explained summarized summarised documented
listened grepped tailed viewed measured counted estimated calculated computed grabbed obtained
"""),
    looks=_words("look review inspect read get check verify confirm investigate analyze query list search examine"),
    digressing={
        verb: _words("by with from on to at here short looking investigating checking there")
        for verb in ("started", "moved", "turned", "switched", "stopped", "starting")
    }
    | {"added": _words("up"), "wrote": _words("down up"), "written": _words("down"), "set": _words("out aside"), "raised": _words("questions doubts")},
    firsts=_words("i we"),
    selves=_words("midwatch assistant agent bot ai"),
    self_adjectives=_words("ai sre investigation investigating automation automated ops"),
    others=_words("you he she they someone somebody who nobody everyone whoever what"),
    pronouns=_words("it them this that these those everything both all they"),
    relatives=_words("that which who whose whom"),
    nothings=_words("no nothing none nobody neither zero nowhere"),
    modals=_words("will would should could can may might must shall ought wo"),
    be=_words("am is are was were be been being 's got get gets getting"),
    be_present=_words("am is are 's get gets"),
    be_infinitive="be",
    be_perfect="been",
    be_under_way="being",
    have=_words("have has had having"),
    did=_words("did do does"),
    to="to",
    negations=_words("not never neither nor hardly without"),
    adverbs=_words("""
just already now then also since again both all each only even once ever yet still first next afterwards afterward
thereafter therefore thus hence meanwhile today in-place ahead simply please really indeed here so
"""),
    adverb_ending="ly",
    not_adverbs=_words("family supply assembly anomaly reply early daily hourly weekly monthly apply only friendly july"),
    property_adverbs=_words("recently newly previously frequently repeatedly never freshly formerly badly poorly"),
    successes=_words("successfully now cleanly safely properly gracefully correctly already"),
    preambles=(("went", "ahead", "and"), ("gone", "ahead", "and"), ("gone", "on", "and"), ("went", "in", "and")),
    conditions=_words("if unless whether provided providing assuming suppose supposing lest otherwise imagine"),
    moments=_words("once when whenever after before until till while upon"),
    subordinates=_words("that which who because where how why as although though since whom whose"),
    joiners=_words("and & or then plus"),
    alternatives=_words("or nor"),
    contrasts=_words("but so"),
    before_nouns=_words("""
the a an this these those its their our my your his her of for with from in on to by at into any some every each no
than like between about via per without
"""),
    determiners=_words("the a an this that these those its their our my your his her"),
    prepositions=_words("""
of for with from in on to by at into via per across under through using after before since during within against
because due until when while so as inside onto over
"""),
    places=_words("on in at inside within"),
    means=_words("after by upon following through via having since"),
    instructions=_words("""
check verify confirm ensure make determine validate see wait monitor test examine review inspect find run try proceed
continue let notify watch update close rerun use keep repeat do go please remember look investigate consider restart
scale delete roll rollback apply drain add increase reduce set open contact escalate ask note avoid stop start report
ping page remove clear upgrade patch rotate configure enable disable create document schedule tell you then
"""),
    checking=_words("""
check checking verify verifying confirm confirming ensure ensuring sure determine determining see wait waiting validate
validating know whether ask asking monitor assume assuming imagine recommend recommending suggest suggesting propose
want wants double-check unclear unknown unsure until unless expect expecting hoping hope
"""),
    check_nouns=_words("the a an this that health sanity status liveness readiness its"),
    announcing=_words("confirm report announce say happy pleased glad note know inform rest"),
    unannouncing=_words("to not cannot should"),
    nows=_words("now back again longer been gone"),
    results=_words("""
resolved fixed cleared restored helped worked solved brought freed reduced dropped stopped recovered mitigated
stabilized stabilised eliminated corrected returned disappeared ceased improved normalized normalised
"""),
    completions=_words("""
successful complete completed done finished succeeded worked performed executed applied triggered initiated issued
concluded went
"""),
    present_verbs=_words("""
contain contains show shows remain remains cause causes need needs require requires include includes appear appears
come comes go goes keep keeps use uses fail fails observed seen detected leave leaves hold holds take takes make makes
become becomes result results affect affects lose loses
"""),
    irregular_past=_words("""
found saw ran went took made got began came fell rose hit sent grew kept lost led was were had has is are did broke
became gave held left meant met paid put said set shut spent stood told thought wrote knew felt seen
"""),
    past_ending="ed",
    generic=_GENERIC,
    kinds=_KINDS,
    research=_words("""
search query queries window range scope filter filters hypothesis hypotheses analysis investigation summary list
statement assumption assumptions conclusion focus question timeframe answer view understanding theory attention
perspective dashboard graph chart timerange grep output report sections section timeline overview mind duplicates
excerpt excerpts puzzle calculation baseline math idea mistake average median notes explanation comparison breakdown findings suspects hostname
candidates causes possibilities confusion ambiguity doubt discrepancy correlation reasoning assessment review look
"""),
    presenting=_words("below above here"),
    stoppable=_words("query queries report"),
    noun_heads=_words("""
count counts counter policy policies history loop loops strategy window event events log logs storm rate attempt
attempts request behavior behaviour job jobs reason reasons frequency timeline procedure process plan option
options script command needed required recommended schedule scheduled notes
"""),
    before_actions=_words("""
the a an this that my our successful rolling graceful quick full clean manual forced hard controlled service pod
"""),
    troubles=_words("""
issue issues problem problems incident incidents alert alerts error errors outage condition alarm alarms warning
warnings symptoms symptom latency situation service connectivity access functionality traffic operation operations
availability backlog bottleneck spike degradation
"""),
    soothing=_words("resolve restore clear stop mitigate"),
    suffered=_words("throttle cap"),
    observed=_words("""
alert alerts request requests packet packets message messages query queries error errors event events exception
exceptions warning warnings response responses retry retries transaction transactions handshake handshakes probe probes
threshold thresholds notification notifications metric metrics counter counters thread threads lease election entry
entries record records span spans trace traces sample samples writes reads calls call connection
"""),
    metrics=_words("""
latency usage utilization utilisation load rate throughput count demand pressure temperature lag errors time times
consumption volume traffic iops saturation
"""),
    levels=_words("dropped increased decreased reduced raised lowered elevated doubled expanded blocked locked"),
    times=_words("days day hours hour minutes minute weeks seconds months years min h m s"),
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
    refuted=phrases.REFUTED,
    # Any word for its health answers whether a thing is well, one that denies it too: a mark is for what nothing bears on.
    akin=dict.fromkeys(_WELL, _WELL | _SEEN_WELL) | dict.fromkeys(_ILL, _ILL | _SEEN_ILL),
    state_links=_words("back all fully completely again no longer"),
    unstated=phrases.UNSTATED,
    counted=_words("""
pods pod nodes replicas containers restarts restart errors connections requests processes threads files failures
instances workers sessions queries messages crashes hosts retries timeouts volumes disks users cores cpus partitions
events alerts exceptions packets
"""),
    measured_before=phrases.MEASURED_BEFORE,
)
