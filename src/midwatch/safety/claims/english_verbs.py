"""English: verbs of doing something to a system, and the nouns for it."""

from collections.abc import Mapping
from typing import Final

from midwatch.safety.claims.lexicon import Family

_COMMUNICATION: Final = (
    "ticket/tickets/issue/incident/pr/pull/case/jira/bug/message/notification/alert/email/page/report"
)

VERBS: Final[Mapping[Family, str]] = {
    Family.RESTART: """
restart~ restarted restarting ; restart
reboot~ rebooted rebooting ; reboot
reload~ reloaded reloading ; reload
bounce bounced bouncing ; bounce
recycle recycled recycling ; recycle
relaunch relaunched relaunching ; relaunch
respawn*~ respawned respawning ;
powercycle powercycled powercycling ; powercycle
cycle cycled cycling ;
roll=pod/pods/deployment/deployments/node/nodes/fleet/keys/secrets/workers/instances rolled rolling ;
reset*~ reset resetting ; reset
recreate recreated recreating ; recreation
reinitialize reinitialized reinitializing ;
""",
    Family.START: """
start*~ started starting ;
launch* launched launching ;
resume*~ resumed resuming ;
boot*~ booted booting ;
unpause unpaused unpausing ;
activate activated activating ;
reactivate reactivated reactivating ;
enable enabled enabling ;
reenable reenabled reenabling ;
bring+up/back/online brought bringing ;
turn+on turned turning ;
power+on powered powering ;
spin+up spun spinning ;
switch+on switched switching ;
""",
    Family.STOP: """
stop*~ stopped stopping ;
shut+down/off shut shutting ; shutdown
halt* halted halting ;
pause* paused pausing ;
suspend* suspended suspending ;
kill* killed killing ; kill
terminate*~ terminated terminating ; termination
disable disabled disabling ;
deactivate deactivated deactivating ;
decommission decommissioned decommissioning ;
turn+off turned turning ;
power+off/down powered powering ;
switch+off switched switching ;
take+down/offline/out took/taken taking ;
cancel* cancelled/canceled cancelling ;
abort* aborted aborting ;
end*=session/sessions/process/processes/job/jobs/task/query/queries/connection/connections/transaction ended ending ;
throttle* throttled throttling ;
cap* capped capping ;
""",
    Family.DELETE: """
delete deleted deleting ; deletion
remove removed removing ; removal
purge purged purging ; purge
prune pruned pruning ;
clear~ cleared clearing ;
clean cleaned cleaning ; cleanup
wipe wiped wiping ;
flush flushed flushing ; flush
truncate truncated truncating ; truncation
drop*~ dropped dropping ;
evict* evicted evicting ; eviction
free freed freeing ;
empty emptied emptying ;
erase erased erasing ;
uninstall uninstalled uninstalling ;
vacuum vacuumed vacuuming ; vacuum
reclaim* reclaimed reclaiming ;
discard* discarded discarding ;
revoke* revoked revoking ; revocation
invalidate invalidated invalidating ; invalidation
trim trimmed trimming ;
compress compressed compressing ; compression
archive archived archiving ;
""",
    Family.SCALE: """
scale~ scaled scaling ; scaling scaleup scaledown scaleout rescale
rescale~ rescaled rescaling ;
resize resized resizing ; resize
increase*~ increased increasing ;
decrease*~ decreased decreasing ;
reduce* reduced reducing ;
raise* raised raising ;
lower* lowered lowering ;
bump bumped bumping ; bump
double*~ doubled doubling ;
expand*~ expanded expanding ; expansion
extend* extended extending ;
enlarge enlarged enlarging ;
provision* provisioned provisioning ;
allocate* allocated allocating ;
add* added adding ;
""",
    Family.ROLLBACK: """
roll+back~ rolled rolling ; rollback
rollback rollbacked/rolledback rollbacking ;
revert reverted reverting ; revert reversion
undo undid/undone undoing ;
restore restored restoring ;
downgrade downgraded downgrading ; downgrade
back+out backed backing ;
""",
    Family.DEPLOY: """
deploy*~ deployed deploying ;
redeploy redeployed redeploying ; redeployment redeploy
roll+out/forward* rolled rolling ;
install* installed installing ; installation
reinstall reinstalled reinstalling ; reinstall
upgrade*~ upgraded upgrading ; upgrade
update* updated updating ; update
patch patched patching ; patch hotfix
push*=fix/hotfix/change/commit/image/config/configuration/update/build/version/rollback pushed pushing ;
merge* merged merging ;
release* released releasing ;
publish* published publishing ;
rebuild rebuilt rebuilding ; rebuild
create* created creating ;
apply applied applying ;
sync*~ synced syncing ; sync
resync resynced resyncing ; resync
ship* shipped shipping ;
""",
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
renice reniced renicing ;
""",
    Family.MOVE: """
drain~ drained draining ; drain
cordon cordoned cordoning ; cordon
uncordon uncordoned uncordoning ;
taint* tainted tainting ;
fail+over~ failed failing ; failover
promote* promoted promoting ; promotion
demote* demoted demoting ;
rebalance~ rebalanced rebalancing ; rebalance rebalancing
reroute* rerouted rerouting ;
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
pull+out=node/host/instance/server/replica/backend/member/pod/vm pulled pulling ;
reassign* reassigned reassigning ;
requeue* requeued requeuing ;
rerun* reran/rerun rerunning ; rerun
replay* replayed replaying ;
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
""",
    Family.NOTIFY: f"""
notify* notified notifying ; notification
page*=team/oncall/engineer/person/sre/you/owner/owners/them/dba/on-call/on paged paging ;
escalate* escalated escalating ; escalation
email* emailed emailing ;
message* messaged messaging ;
ping*=team/oncall/engineer/owner/sre/them/channel/on-call/on pinged pinging ;
alert=team/oncall/engineer/owner/sre/them/channel/on-call/on alerted alerting ;
inform* informed informing ;
post*={_COMMUNICATION}/update/comment/summary/channel/slack posted posting ;
send*={_COMMUNICATION}/update/slack sent sending ;
file*={_COMMUNICATION} filed filing ;
open*={_COMMUNICATION}/firewall/port opened opening ;
""",
    Family.SILENCE: """
acknowledge* acknowledged acknowledging ; acknowledgement
ack* acked acking ;
silence* silenced silencing ; silence
mute* muted muting ;
snooze* snoozed snoozing ;
close*=alert/alerts/ticket/incident/issue/case/connection/connections/port/session/sessions closed closing ;
dismiss* dismissed dismissing ;
suppress* suppressed suppressing ;
""",
    Family.REPAIR: """
fix fixed fixing ; fix
repair repaired repairing ; repair
resolve~ resolved resolving ;
remediate remediated remediating ; remediation
mitigate mitigated mitigating ; mitigation
rectify rectified rectifying ;
solve solved solving ;
""",
    Family.RUN: """
work+around worked working ; workaround
intervene* intervened intervening ; intervention change changes
""",
}
