"""English: the words of claims."""

from typing import Final

from midwatch.safety.claims import english_nouns as nouns
from midwatch.safety.claims import english_phrases as phrases
from midwatch.safety.claims.actions import word_set
from midwatch.safety.claims.english_verbs import VERBS
from midwatch.safety.claims.lexicon import Lexicon
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
retained relieved selected suspected expected respected inspected connected collected attempted relayed reversed
achieved contracted diverged evaluated recalled rendered resided reminded
"""
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
    prefixes=word_set("re un de pre cherry black white allow deny block back right down up hot"),
    performing=word_set("""
performed executed initiated triggered issued did done made ran run completed conducted started forced applied
undertook undertaken took taken invoked carried kicked implemented launched submitted finished deployed pushed put gave
given
"""),
    doing=word_set("did done"),
    proforms=word_set("so it that this"),
    commanding=word_set("ran run executed issued invoked used called typed entered fired"),
    running=word_set("ran run executed issued invoked"),
    looking_commands=word_set("""
show get list describe select explain display print status cat tail head top watch count diff test ping trace traceroute
dig nslookup host version help info stat stats find grep query check read look search inspect view log logs events sh
"""),
    programs=word_set("""
kubectl systemctl docker helm podman service rm kill pkill psql redis-cli aws gcloud az terraform ansible journalctl
crictl nomad consul vault argocd flux curl ssh sudo
"""),
    command_effects=word_set("""
restart reboot reload start stop kill pkill killall delete remove rm rmdir scale rollout undo rollback drain cordon
uncordon apply patch edit set create replace install uninstall upgrade purge prune truncate drop vacuum flush
enable disable chmod chown mv tee taint evict label annotate shutdown poweroff halt useradd userdel iptables ufw
vacuum-time vacuum-size update insert alter failover promote redeploy cleanup reset push merge rotate renew revoke sed
flushall flushdb mkfs mount umount swapoff swapon resize2fs lvextend logrotate unlink write put post fix repair fsck
remediation remediate migration playbook terminate cancel abort grant rename del cp ln dd touch up down detach attach
requeue replay restore rerun retry resize rebalance reroute silence
"""),
    linking=word_set("""
managed able proceeded went chose opted had succeeded finished completed ended done continued helped decided stepped
"""),
    link_nouns=word_set("liberty care step trouble"),
    link_particles=word_set("in up with of on"),
    causing=word_set("had got have"),
    alone=word_set("stop start resume pause"),
    simple_pasts=word_set("wrote rewrote took undid overrode reran"),
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
        "ran": word_set("into out across"),
        "run": word_set("into out across"),
        "pinned": word_set("down"),
        "narrowed": word_set("down"),
    },
    wondering=word_set("why how whether who where"),
    translating=word_set("resolved translated mapped"),
    firsts=word_set("i we"),
    selves=word_set("midwatch assistant agent bot ai"),
    self_adjectives=word_set("ai sre investigation investigating automation automated ops"),
    others=word_set("you he she they someone somebody who nobody everyone whoever what"),
    pronouns=word_set("it them this that these those everything both all they"),
    relatives=word_set("that which who whose whom"),
    persons=word_set("who"),
    nothings=word_set("no nothing none nobody neither zero nowhere"),
    modals=word_set("will would should could can may might must shall ought wo"),
    be=word_set("am is are was were be been being 's got get gets getting"),
    possessive="'s",
    be_present=word_set("am is are 's get gets"),
    be_past=word_set("was were"),
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
    definite=word_set("the this our your"),
    prepositions=word_set("""
of for with from in on to by at into via per across under through using after before since during within against
because due until when while so as inside onto over
"""),
    directions=word_set("up down out off back over"),
    moving=word_set("into from"),
    owning=word_set("of"),
    places=word_set("on in at inside within"),
    accompanying=word_set("with"),
    indefinite=word_set("a an any some more"),
    imagining=word_set("would could might may will can"),
    thanks=word_set("thanks due owing"),
    excepting={
        "than": word_set("other"),
        "from": word_set("apart aside"),
        "besides": frozenset(),
        "for": word_set("except"),
        "to": word_set("addition"),
    },
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
    complementizers=word_set("that"),
    disputing=word_set("deny denies denied false untrue wrong incorrect impossible pretend claim claiming"),
    under_way=phrases.UNDER_WAY,
    nows=word_set("now back again longer been gone"),
    agains=word_set("again"),
    results=word_set("""
trick
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
became gave held left meant met paid put said set shut spent stood told thought wrote knew felt seen let
"""),
    past_ending="ed",
    generic=nouns.GENERIC,
    kinds=nouns.KINDS,
    research=word_set("""
search query queries window range scope filter filters hypothesis hypotheses analysis investigation summary list
statement assumption assumptions conclusion focus question timeframe answer view understanding theory attention
perspective dashboard graph chart timerange grep output report sections section timeline overview mind duplicates
excerpt excerpts puzzle calculation baseline math idea mistake average median notes
 explanation comparison breakdown findings suspects hostname
confidence certainty estimate expectation expectations suspicion
candidates causes possibilities confusion ambiguity doubt discrepancy correlation reasoning assessment review look
"""),
    unresearched=word_set("maintenance change retention"),
    channels=word_set("channel slack teams thread ticket email mail pagerduty jira"),
    revisions=word_set("revision version build release generation"),
    scopes=word_set("namespace cluster region zone environment"),
    presenting=word_set("below above here"),
    stoppable=word_set("query queries report transaction transactions thread threads connection"),
    noun_heads=word_set("""
count counts counter policy policies history loop loops strategy window event events log logs storm rate attempt
attempts request behavior behaviour job jobs reason reasons frequency timeline procedure process plan option
options script command needed required recommended schedule scheduled notes limit limits quota quotas error errors
failure failures message button permission permissions rights playbook workflow pipeline routine
"""),
    runnable=word_set("job jobs script procedure process command plan playbook workflow pipeline routine"),
    possessives=word_set("my our"),
    moves=word_set("move step action fix response remedy reaction mitigation"),
    choices=word_set("choice option alternative"),
    deed_nouns=word_set("operation procedure process action task call command request"),
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
    presumption_hints=phrases.PRESUMPTION_HINTS,
    clause_ends=phrases.CLAUSE_ENDS,
    other_agents=phrases.OTHER_AGENTS,
    own_agents=phrases.OWN_AGENTS,
    attributions=phrases.ATTRIBUTIONS,
    strong_reports=phrases.STRONG_REPORTS,
    weak_reports=phrases.WEAK_REPORTS,
    purposes=phrases.PURPOSES,
    failures=phrases.FAILURES,
    failure_hints=phrases.FAILURE_HINTS,
    done_marks=phrases.DONE_MARKS,
    done_words=phrases.DONE_WORDS,
    done_tags=phrases.DONE_TAGS,
    done_heads=phrases.DONE_HEADS,
    advice_heads=phrases.ADVICE_HEADS,
    plan_heads=phrases.PLAN_HEADS,
    openings=phrases.OPENINGS,
    report_heads=phrases.REPORT_HEADS,
    change_columns=word_set("action actions change changes remediation mitigation operation"),
    head_stems=phrases.HEAD_STEMS,
    refuted=phrases.REFUTED,
    # Any word for its health answers whether a thing is well, one that denies it too: what nothing bears on is marked.
    akin=dict.fromkeys(nouns.WELL, nouns.WELL | nouns.SEEN_WELL) | dict.fromkeys(nouns.ILL, nouns.ILL | nouns.SEEN_ILL),
    state_links=word_set("back all fully completely again no longer"),
    unstated=phrases.UNSTATED,
    unstated_hints=phrases.UNSTATED_HINTS,
    counted=word_set("""
pods pod nodes replicas containers restarts restart errors connections requests processes threads files failures
instances workers sessions queries messages crashes hosts retries timeouts volumes disks users cores cpus partitions
events alerts exceptions packets
"""),
    measured_before=phrases.MEASURED_BEFORE,
)
