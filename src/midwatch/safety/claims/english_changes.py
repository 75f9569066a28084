"""English: verbs of changing, moving, permitting, telling people and repairing, and the nouns for it."""

from collections.abc import Mapping
from typing import Final

from midwatch.safety.claims.actions import Family

_COMMUNICATION: Final = (
    "ticket/tickets/issue/incident/pr/pull/case/jira/bug/message/notification/alert/email/page/report"
)

_WORK: Final = (
    "job/jobs/build/builds/pipeline/pipelines/message/messages/deployment/migration/sync/workflow/task/tasks/allocation"
    "/shards/upload/backup/rollout"
)
_CLOSABLE: Final = (
    "#/index/indices/file/files/socket/sockets/alert/alerts"
    "/ticket/incident/issue/case/connection/connections/port/session/sessions"
)

CHANGES: Final[Mapping[Family, str]] = {
    Family.CHANGE: """
change*~ changed changing ;
compact compacted compacting ; compaction
modify* modified modifying ; modification
edit edited editing ; edit
adjust* adjusted adjusting ; adjustment
tune tuned tuning ; tuning
set* set setting ;
configure* configured configuring ;
reconfigure reconfigured reconfiguring ; reconfiguration
correct corrected correcting ; correction
tweak tweaked tweaking ; tweak
rename* renamed renaming ;
replace* replaced replacing ; replacement
swap* swapped swapping ; swap
write* wrote/written writing ;
append* appended appending ;
insert* inserted inserting ;
copy* copied copying ;
upload* uploaded uploading ;
attach* attached attaching ;
reattach* reattached reattaching ;
reconnect*~ reconnected reconnecting ;
reprovision reprovisioned reprovisioning ;
reimage reimaged reimaging ;
rewind rewound rewinding ;
detach* detached detaching ;
mount* mounted mounting ;
unmount unmounted unmounting ;
remount remounted remounting ;
override* overrode/overridden overriding ;
toggle toggled toggling ;
label* labeled/labelled labeling ;
annotate* annotated annotating ;
rewrite* rewrote/rewritten rewriting ;
defragment defragmented defragmenting ; defragmentation
reindex reindexed reindexing ; reindex
put*+into/in/behind/under=page/maintenance/mode/standby/read-only/quarantine/rotation/production put putting ;
renice reniced renicing ;
flip=#/flag/flags/switch/toggle/record/records/dns/traffic/setting/bit flipped flipping ;
point*+at/to=#/record/records/dns/traffic/balancer/endpoint/hostname/domain/service/clients pointed pointing ;
repoint repointed repointing ;
pin*=#/version/image/dependency/tag/cpu/release pinned pinning ;
unpin unpinned unpinning ;
assign*=#/shard/shards/replica/replicas/ip/role/roles/policy/partition/partitions assigned assigning ;
unassign* unassigned unassigning ;
remap remapped remapping ;
register*=#/node/target/instance/host/server/backend registered registering ;
deregister* deregistered deregistering ;
optimize* optimized/optimised optimizing ; optimization
repartition repartitioned repartitioning ;
reshard resharded resharding ;
reformat reformatted reformatting ;
format*=disk/disks/volume/partition/drive formatted formatting ;
defrag defragged defragging ; defrag
prewarm prewarmed prewarming ;
preload preloaded preloading ;
backfill* backfilled backfilling ; backfill
reallocate* reallocated reallocating ; reallocation
reconcile* reconciled reconciling ;
harden* hardened hardening ;
restrict* restricted restricting ;
unplug unplugged unplugging ;
schedule*=restart/reboot/maintenance/downtime/backup/rollback/deployment/cleanup/failover/upgrade scheduled scheduling ;
enqueue* enqueued enqueuing ;
rehash rehashed rehashing ;
untag untagged untagging ;
hardcode* hardcoded hardcoding ;
bypass* bypassed bypassing ;
rejig rejigged rejigging ;
""",
    Family.MOVE: f"""
drain~ drained draining ; drain
cordon cordoned cordoning ; cordon
uncordon uncordoned uncordoning ;
taint* tainted tainting ;
fail+over~ failed failing ; failover
promote* promoted promoting ; promotion
demote* demoted demoting ;
rebalance~ rebalanced rebalancing ; rebalance rebalancing
reroute* rerouted rerouting ; reroute
redirect* redirected redirecting ;
reschedule* rescheduled rescheduling ; rescheduling
isolate* isolated isolating ;
quarantine quarantined quarantining ;
relocate* relocated relocating ;
divert* diverted diverting ;
shift* shifted shifting ;
migrate*~ migrated migrating ; migration
move*~ moved moving ;
switch*~ switched switching ; switchover
switch+over~ switched switching ;
offload* offloaded offloading ;
pull+out=#/node/host/instance/server/replica/backend/member/pod/vm pulled pulling ;
reassign* reassigned reassigning ;
requeue* requeued requeuing ; requeue
rerun* reran/rerun rerunning ; rerun
replay* replayed replaying ; replay
retry*={_WORK} retried retrying ;
evacuate* evacuated evacuating ; evacuation
swing*=traffic/load/#/dns/clients swung swinging ;
steer*=traffic/load/requests/clients/# steered steering ;
route*=traffic/requests/clients/load/# routed routing ;
cut+over cut cutting ; cutover
transfer*=leadership/ownership/traffic/load/data/lease/role/# transferred transferring ;
rejoin*~ rejoined rejoining ;
exclude*+from=allocation/rotation/routing/scheduling/balancer/pool/traffic/backends excluded excluding ;
vacate* vacated vacating ;
resend* resent resending ;
redo redid/redone redoing ;
""",
    Family.ACCESS: """
rotate* rotated rotating ; rotation
renew* renewed renewing ; renewal
grant* granted granting ;
block* blocked blocking ;
unblock unblocked unblocking ;
whitelist whitelisted whitelisting ;
allowlist allowlisted allowlisting ;
blacklist blacklisted blacklisting ;
ban* banned banning ;
regenerate* regenerated regenerating ;
reissue* reissued reissuing ;
lock* locked locking ;
unlock unlocked unlocking ;
chmod chmodded chmodding ;
authorize* authorized/authorised authorizing ;
unseal unsealed unsealing ;
rekey rekeyed rekeying ;
unban unbanned unbanning ;
blackhole* blackholed blackholing ;
blocklist blocklisted blocklisting ;
denylist denylisted denylisting ;
approve*=pr/pull/merge approved approving ;
expose*=#/port/service/endpoint exposed exposing ;
""",
    Family.NOTIFY: f"""
notify* notified notifying ; notification
page*=#/team/oncall/engineer/person/sre/you/owner/owners/them/dba/on-call/on paged paging ;
escalate* escalated escalating ; escalation
email* emailed emailing ;
message* messaged messaging ;
ping*=team/oncall/engineer/owner/sre/them/channel/on-call/on pinged pinging ;
alert=team/oncall/engineer/owner/sre/them/channel/on-call/on alerted alerting ;
inform* informed informing ;
post*={_COMMUNICATION}/update/comment/summary/channel/slack posted posting ;
send*={_COMMUNICATION}/update/slack sent sending ;
file*={_COMMUNICATION} filed filing ;
open*={_COMMUNICATION}/firewall/port/ports/interface/link/circuit/gate opened opening ;
reach*+out reached reaching ;
contact* contacted contacting ;
tell*=team/oncall/engineer/owner/owners/sre/them/dba/on-call/channel told telling ;
call*=team/oncall/engineer/owner/dba/on-call called calling ;
phone* phoned phoning ;
loop*+in looped looping ;
hand*+off/over handed handing ; handoff
raise*=ticket/tickets/issue/incident/pr/case/bug/request raised raising ;
log*=ticket/tickets/issue/incident/case/bug logged logging ;
submit*=ticket/pr/pull/request/change/fix/patch submitted submitting ;
announce* announced announcing ;
let*+know let letting ;
leave*=comment/note/message/ticket left leaving ;
comment*+on=#/ticket/issue/pr/incident/change commented commenting ;
""",
    Family.SILENCE: f"""
acknowledge* acknowledged acknowledging ; acknowledgement
ack* acked acking ;
silence* silenced silencing ; silence
mute* muted muting ;
snooze* snoozed snoozing ;
close*={_CLOSABLE} closed closing ;
dismiss* dismissed dismissing ;
suppress* suppressed suppressing ;
unsilence unsilenced unsilencing ;
unmute unmuted unmuting ;
""",
    Family.REPAIR: """
fix fixed fixing ; fix
repair repaired repairing ; repair
resolve~ resolved resolving ;
remediate remediated remediating ; remediation
mitigate mitigated mitigating ; mitigation
rectify rectified rectifying ;
solve solved solving ;
unstick unstuck unsticking ;
unwedge unwedged unwedging ;
unjam unjammed unjamming ;
unclog unclogged unclogging ;
remedy remedied remedying ;
heal*~ healed healing ;
cure* cured curing ;
sort*+out sorted sorting ;
address*=issue/problem/outage/incident/error/errors/leak/bottleneck addressed addressing ;
""",
    Family.RUN: """
work+around worked working ; workaround
intervene* intervened intervening ; intervention change changes
""",
}
