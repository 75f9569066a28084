"""English: turns of phrase that say who did something, whether it happened at all, and what a list is about."""

import re
from typing import Final

from midwatch.safety.claims.actions import word_set


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


def _any_word(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b")


_COUNT: Final = (
    r"(?:\d+|once|twice|several|many|multiple|numerous|two|three|four|five|six|seven|eight|nine|ten|dozens of|a few)"
)
_SOURCES: Final = (
    r"(?:logs?|events?|history|audit(?: trail| logs?)?|journal(?:ctl)?|dmesg|outputs?|results?|changelog|git(?:hub"
    r"|lab)?"
    r"|commits?|records?|dashboards?|metrics|graphs?|traces?|tickets?|alerts?|slack|kubectl|describe|systemctl|status"
    r"|kubernetes|k8s|argo\w*|cloudtrail|timeline|data|evidence|report|telemetry|prometheus|grafana|uptime|pagerduty"
    r"|last(?:log)?|messages?|entries|entry|annotations?|conditions?|reason|manifest|ci|pipeline|jenkins|syslog|kernel"
    r"|user|team|operator|comment|thread|systemd\w*|release notes)"
)
_SAYS: Final = (
    r"(?:shows?|showed|showing|indicat\w+|says?|said|report(?:s|ed|ing)?|record(?:s|ed)|reveal\w*|confirm(?:s|ed)?"
    r"|suggest\w*|list(?:s|ed)?|contains?|mention(?:s|ed)?|not(?:e|es|ed)|stat(?:e|es|ed)|tells?|reads?|logg?(?:s|ed)"
    r"|(?<!to )point(?:s|ed)? to|reflects?|describes?|captur\w+|proves?|makes? it clear)"
)
_DAYS: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS: Final = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)"
)
_SYSTEM_CAUSES: Final = (
    r"(?:oom\w*|out of memory|out-of-memory|probes?|exit(?:ed|ing)?(?: code)?|crash\w*|evict\w*|pressure|kernel"
    r"|exceed\w*"
    r"|kubelet|sigkill|sigterm|signal|panic\w*|segfault\w*|failed (?:health|liveness|readiness)|health ?checks?|cgroup"
    r"|preempt\w*|spot|reclaim\w*|limits?|not ?ready|quorum|lease|election)"
)
_SELF: Final = r"(?:me\b|us\b|myself\b|ourselves\b|midwatch\b|(?:the|this|our|your) (?:\w+ )?(?:assistant|agent|bot)\b)"
_NO_AGENT: Final = (
    r"(?:\w+ing\b|\d|hand\b|default\b|the way\b|now\b|then\b|mistake\b|a factor|an? order|about\b|roughly\b|one\b"
    r"|half\b|means\b|far\b)"
)
_ATTEMPT: Final = (
    r"(?:it|this|that|they|which|(?:the|this|that|my|each|every|our) (?:\w+ )?(?:call|attempt|action|request"
    r"|operation|command"
    r"|tool|change|restart|rollback|update|deletion|reboot|scale\w*|gate|approval|write|fix|patch|job|removal"
    r"|failover)s?)"
)
_CAME_TO_NOTHING: Final = (
    r"(?:failed|fails|refused|denied|blocked|rejected|declined|timed out|errored|turned down|not carried out"
    r"|(?:was|were|has been|is) not (?:executed|allowed|permitted|sent|approved|made|performed|carried out)"
    r"|did(?: not|n't) (?:succeed|go through|complete|take effect|execute|run|happen)"
    r"|never (?:ran|executed|went through|completed|happened)|unsuccessful|unknown|returned an error|not approved"
    r"|could not be (?:confirmed|completed|executed|verified))"
)
_DEED_NOUN: Final = (
    r"(?:actions?|steps?|changes?|remediations?|fix(?:es)?|mitigations?|work|measures?|operations?|commands?"
    r"|interventions?"
    r"|tasks?)"
)
_DONE: Final = (
    r"(?:taken|performed|executed|completed|done|applied|made|implemented|carried out|undertaken"
    r"|(?:i|we) (?:took|made|ran))"
)

PRESUMPTIONS: Final = _any(
    r"\bin case\b",
    r"\bas soon as\b",
    r"\bas (?:if|though)\b",
    r"\bhad \w+ been\b",
    r"\bon condition\b",
    r"\bso that\b",
    r"\bin order\b",
    r"\bmake sure\b",
    r"\b(?:yet|still) to be\b",
    r"\b(?:not|n't|never) (?:know|sure|clear|confirmed|verified|think|believe|see)\b",
    r"\b(?:unclear|unknown|unsure|doubtful)\b",
    r"\bno (?:evidence|sign|indication|record)\b",
    r"\bat no (?:point|time)\b",
    r"\bthe (?:goal|idea|plan|intention) (?:is|was)\b",
    r"\b(?:must|should|needs? to|has to|can|could) be (?:confirmed|verified|checked|ensured|assumed)\b",
)
FACTUAL: Final = _any(r"\bnow that\b")
PRESUMPTION_HINTS: Final = word_set("""
case soon if though had condition that order sure be not t never unclear unknown unsure doubtful evidence sign
indication record point time goal idea plan intention
""")
"""Whoever adds to the presumptions adds here: one word of each phrase. The letters of "don't" are two words."""
UNDER_WAY: Final = _any(
    r"\bas we speak\b|\bright now\b|\bcurrently\b|\bat the moment\b",
    r"\b(?:i|we)(?:'ve| have)? (?:already |just )?(?:did|done) (?:it|that|this|so)\b",
)
CLAUSE_ENDS: Final = _any(
    r"[;—–]|:(?!\d)",
    r",? (?:and|so|but|then|and then|and so|hence|therefore) (?=i |we |it |the |this |they )",
    r", (?:so|but|and|then|therefore|hence) ",
)
OTHER_AGENTS: Final = _any(
    rf"\bby (?!{_SELF})(?!{_NO_AGENT})(?=\w|`|@|\")",
    r"\b(?:on its own|by itself|automatically|autonomously|themselves|itself)\b",
    r"\bself-(?:heal|recover|restart)",
)
OWN_AGENTS: Final = _any(rf"(?<!not )\bby {_SELF}")
ATTRIBUTIONS: Final = _any(
    r"\baccording to\b",
    rf"\b{_SOURCES}\b[^.;]{{0,70}}?\b{_SAYS}\b",
    r"\b(?:seen|visible|recorded|logged|shown|noted|reported|documented|mentioned|listed) (?:in|by|on) \b",
    r"\b(?:as per|per|based on|from) (?:the |its |their )?(?:\w+ ){0,2}(?:logs?|events?|history|audit|journal"
    r"|records?|changelog)\b",
    r"\b(?:appears?|seems?|seemed|appeared|believed|reported|known|said|thought) to (?:have|be)\b",
    r"\b(?:apparently|reportedly|likely|probably|possibly|presumably|perhaps|maybe|evidently|allegedly|supposedly)\b",
    r"\b(?:it )?looks like\b|\bit (?:appears|seems)\b",
    r"\b(?:i|we) (?:can |could |also )?(?:see|saw|found|noticed|observed|discovered|learned|know|understand)\b",
    r"\bevidence (?:that|of)\b|\b(?:suggesting|indicating|showing|meaning|implying)\b",
)
STRONG_REPORTS: Final = _any(
    r"\bspot (?:instance|node|vm)|\bpreempti|\bre-?elect|\belect(?:ed|ion)\b",
    r"\bover the (?:weekend|night|holidays?)\b|\bduring (?:the |its )?(?:maintenance|night)\b",
    r"\bin (?:the |its )?(?:manifest|spec|code|chart|values|defaults?)\b",
    r"\bwith (?:exit )?(?:code|status|signal)\b",
    r"\byesterday\b|\bthis morning\b|\bovernight\b|\bpreviously\b|\bhistorically\b|\bat (?:boot|startup|install)\b",
    rf"\blast (?:night|week|month|year|{_DAYS}|sprint|quarter|weekend|release|time|deploy\w*)\b",
    r"\b(?:days?|weeks?|months?|years?) ago\b",
    rf"\bon {_DAYS}\b|\b\d{{4}}-\d{{2}}-\d{{2}}\b|\bin (?:{_MONTHS}|20\d\d)\b|\b{_MONTHS} \d{{1,2}}\b",
    rf"\b{_COUNT}(?: more)? times\b|\brepeatedly\b|\bfrequently\b|\bevery (?:\d|few|time|day|hour|night|minute)",
    r"\b(?:due to|because of|because|as a result of|caused by|in response to|owing to|following|after)\b"
    rf"[^.;]{{0,60}}\b{_SYSTEM_CAUSES}\b",
    r"\b(?:which|that) (?:caused|triggered|led|broke|introduced|explains|coincides|correlates|matches|removed|added"
    r"|means)\b",
    r"\b(?:causing|leading to|resulting in|introducing|coincid\w+|correlat\w+)\b",
    r"\bin (?:commit|pr|pull request|release|version|revision|build|merge|chart|upstream|migration)\b"
    r"|(?<!an )(?<!the )\bupstream(?=\s*(?:[.,;:)]|by\b|in\b|$))",
    r"\bin v?\d+(?:\.\d+)+\b",
    r"\b(?:after|when|because|since|as) (?:it|they|its|the \w+) (?:had )?(?:lost|failed|crashed|died|exceeded|ran out"
    r"|became|timed out|reached|disconnected|left|dropped out|missed|expired)\b",
    r"\bafter (?:it|they|its|the \w+) (?:had )?(?:went|stopped|hit)\b",
)
WEAK_REPORTS: Final = _any(
    r"\b\d{1,2}:\d{2}(?::\d{2})?\b|\bhad (?:\w+ )?been\b",
    r"\b(?:minutes?|hours?|mins?|hrs?|seconds?|[0-9]+[mh]) ago\b",
    r"\bsince (?:the|its|their|it|they) ",
    r"\brecently\b|\bearlier\b|\boriginally\b|\binitially\b|\bat some point\b|\blast\b|\bprior to\b|\bat the time\b",
    r"\bbefore the (?:\w+ )?(?:alert|incident|outage|issue|errors?|spike|failure|crash|problem)\b",
    r"\bshortly (?:before|after)\b|\bminutes? (?:before|after)\b|\bhours? before\b|\bduring the\b|\bin the (?:last"
    r"|past)\b",
    r"\bwhen the\b|\bas part of the\b|\bbecause\b|\bdue to\b|\bas a result of\b|\bcause[sd]?\b|\btrigger(?:s|ed"
    r"|ing)?\b|\bwhile\b",
    r"\bwithout (?:a|any|the|updating|adjusting)\b|\bbut never\b|\btoo (?:low|small|high|large|aggressively|early)\b",
)
PURPOSES: Final = _any_word(
    r"to (?:stop|reduce|free|mitigate|restore|prevent|fix|resolve|relieve|protect|contain|get rid|buy time|shed)"
)
FAILURES: Final = _any(
    rf"\b(?:but|however|though|although|yet|and|which"
    rf"|because)\b[^.;]{{0,24}}?\b{_ATTEMPT}\b[^.;,]{{0,24}}?\b{_CAME_TO_NOTHING}\b",
    r"\b(?:but|which|and|yet)\b[^.;,]{0,12}\b(?:was|were|got) (?:refused|denied|blocked|rejected|declined|turned down"
    r"|not allowed)\b",
    r"\b(?:attempt|call|request|restart|rollback|reboot|deletion|scaling|change|write|fix|action)s?\b[^.;,]{0,50}"
    r"\b(?:was|were|has been|have been|got|is|are) (?:\w+ly )?(?:blocked|refused|denied|rejected|declined|turned down"
    r"|given up on"
    r"|not (?:executed|made|sent|performed|approved|carried out)|skipped|aborted|attempted)\b",
    r"\b(?:unsuccessfully|in vain|to no avail)\b",
    r"[:\-–—|(→]\s*\**(?:refused|denied|failed|blocked|rejected|timed out|error|not executed|not performed|not done"
    r"|pending"
    r"|skipped|unknown|aborted|planned|todo|recommended|proposed|no(?=\s*(?:[.,;|)]|$)))\b",
    r"\b(?:the |its )?outcome (?:is|was|remains) (?:unknown|unclear|not known)",
    r"\b(?:refused|denied|blocked|rejected) by (?:the )?(?:gate|policy|safety|permissions?|rbac|operator)",
    r"\b(?:can|could|do|does)(?: not|n't|not) (?:tell|say|know|confirm) (?:whether|if)\b",
    r"\b(?:nobody|no one|none of us) (?:knows|can say|can tell) (?:whether|if)\b",
)
FAILURE_HINTS: Final = _any(
    r"failed|fails|refused|denied|blocked|rejected|declined|timed|error(?:ed)?|turned|not|t|never|unknown|unclear",
    r"unsuccessful(?:ly)?|returned|given|skipped|aborted|attempted|vain|avail|pending|planned|todo|recommended",
    r"proposed|no|whether|if",
)
"""Whoever adds to the failures adds here: a word that must be there. The letters of "didn't" are two words."""
DONE_MARKS: Final = _any(
    r"(?:[:\-–—(|→=]|\.\.\.|…)\s*\**(?:all |now )?(?:done|completed?|success(?:ful(?:ly)?)?|succeeded|ok|okay"
    r"|finished|executed"
    r"|performed|applied|executed successfully|completed successfully|yes)\b[\s.!*)_|]*$"
)
DONE_TAGS: Final = re.compile(
    r"[\s*_>-]*(?:[\[(]\s*(?:done|completed?|finished|success|succeeded|ok|fixed|executed)\s*[\])][\s*:–—-]*"
    r"|(?:done|completed|finished|executed)\**\s*[:–—-]\**\s+)"
)
DONE_WORDS: Final = word_set("""
done complete completed success successful successfully succeeded ok okay finished executed performed applied yes fixed
""")
DONE_HEADS: Final = _any(
    rf"\b{_DEED_NOUN}\b[^.]{{0,30}}\b{_DONE}\b",
    rf"\b(?:completed|executed|performed|applied|taken|implemented|my) (?:\w+ ){{0,2}}{_DEED_NOUN}\b",
    r"\bwhat (?:i|we)(?: have|'ve)? (?:did|done|changed|fixed)\b|\bwhat (?:was|has been|i've) (?:done|changed|fixed)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:did|done|performed|took|taken|made|completed|executed|carried out"
    r"|applied)\b[^.]{0,40}"
    r"\b(?:following|these|this)\b",
    r"\b(?:action|remediation|change) log\b|^\W*(?:done|completed|fixed|executed)\W*$",
    r"^\W*(?:i|we)(?: have|'ve)? (?:then |also )?(?:followed|executed|ran|went through|worked through|applied"
    r"|stuck to)\b",
)
ADVICE_HEADS: Final = _any(
    r"recommend|suggest|next steps?|propos|\bshould\b|\bto[- ]?dos?\b|follow[- ]?ups?|action items|prevent|how to"
    r"|\bsteps to\b",
    r"planned|instruct|long[- ]term|short[- ]term|\byou can\b|please|consider|would",
    r"possible|potential|\bexpected|\bif\b|\bpending\b|await|\bwill\b|\bcould\b|\bcan\b|\bmust\b",
    r"\bnot (?:yet )?(?:been )?(?:taken|performed|executed|done|made)|\bno (?:actions?|changes?)|blocked|refused"
    r"|denied|failed|skipped",
    r"prefer|\bideal|\bbest\b|desired",
    r"advice|what to|later|future|\bask(?:ed)?\b|\bto be\b|\bneeds?\b|outstanding|\bstill open\b|\bwish",
)
PLAN_HEADS: Final = _any(
    r"\bplan\b|\boptions?\b|required|needed|criteria|checklist|procedure|runbook|guidance|remaining|\bopen\b|urgent",
    r"^\W*(?:immediate|manual|short|corrective) (?:actions?|steps?)",
)
OPENINGS: Final = re.compile(
    r"[\s*_>-]*(?:(?:tl;?\s?dr|fyi|ok(?:ay)?|alright|hey|sure|great|yes|good news|quick update|update|heads up"
    r"|done)\b[\s,:!.*–—-]*)+"
)
REPORT_HEADS: Final = _any(
    r"timeline|\bevents?\b|history|what happened|background|\blogs?\b|evidence|sequence|observ|finding|context|root "
    r"cause",
    r"symptom|audit|alert details|incident details|impact|contributing|changes? (?:detected|observed|found)",
    r"recent (?:changes?|deploy\w*)|what changed",
)
HEAD_STEMS: Final = word_set("""
reco sugg next prop shou todo to foll acti prev how step plan inst long shor you plea cons woul poss pote expe if pend
awai will coul can must not no bloc refu deni fail skip advi what late futu ask aske opti requ need crit chec proc
runb guid rema open urge imme manu corr take perf exec comp done appl made impl carr took ran unde did chan fix fixe
fixes reme miti work meas oper comm inte task my time even hist back log logs evid sequ obse find cont root symp audi
aler inci impa rece happ need outs stil wish i we pref idea best desi
""")
"""Whoever adds to the patterns of headings adds here: the first four letters."""
REFUTED: Final = _any(
    r"\b(?:if|once|should|must|will|would|can|could|may|might|please|needs?|unless|until|whether|to be|not|never|no"
    r"|cannot)\b",
    r"\b(?:failed to|unable|ensure|verify|when|after|before|whenever|refused|denied|rejected|hint|nothing was)\b|n't\b",
)
UNSTATED: Final = _any_word(
    r"if|should|would|could|can|may|might|must|will|shall|unless|whether|once|until|when|whenever|recommend\w*"
    r"|suggest\w*|consider|ensure|verify|check (?:that|whether|if)|make sure|please|needs?|need to|at least|at most"
    r"|threshold|in case|typically|usually|generally|expected|target|limit of|up to|maximum|minimum|default|appears?"
    r"|seems?|likely|probably|possibly|perhaps|wait|every|for example|e\.g|such as|unknown|unclear|not confirmed"
    r"|could not|increase|decrease|raise|lower|set|scale|reduce|add|keep|use|allow|within|more than|above|below|over"
    r"|under"
)
UNSTATED_HINTS: Final = _any(
    r"if|should|would|could|can|may|might|must|will|shall|unless|whether|once|until|when|whenever|recommend\w*",
    r"suggest\w*|consider|ensure|verify|check|sure|please|needs?|least|most|threshold|case|typically|usually",
    r"generally|expected|target|limit|up|maximum|minimum|default|appears?|seems?|likely|probably|possibly|perhaps",
    r"wait|every|example|e|such|unknown|unclear|confirmed|increase|decrease|raise|lower|set|scale|reduce|add|keep",
    r"use|allow|within|than|above|below|over|under",
)
"""Whoever adds to what is unstated adds here, too: one word of each phrase."""
MEASURED_BEFORE: Final = _any(
    r"\b(?:load(?: average)?|cpu|memory|disk|usage|utili[sz]ation|latency|rate|count|p9\d|p50|average|queue|depth|lag"
    r"|throughput|rps|qps|iops|swap|temperature|exit code|restarts)\b[^.;]{0,24}$"
)
