"""English: verbs of doing something to a system, and the nouns for it."""

from collections.abc import Mapping
from typing import Final

from midwatch.safety.claims.actions import Family
from midwatch.safety.claims.english_changes import CHANGES

VERBS: Final[Mapping[Family, str]] = {
    **CHANGES,
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
kick=#/pod/pods/service/process/server/worker/workers/container/daemon/box/node kicked kicking ; kick
recreate recreated recreating ; recreation
reinitialize reinitialized reinitializing ;
nudge nudged nudging ; nudge
hup hupped hupping ;
sighup sighupped sighupping ;
revive revived reviving ;
reinit reinited reiniting ;
refresh*=cache/caches/token/tokens/credentials/config/configuration/certificate/pods/connections refreshed refreshing ;
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
fire+up fired firing ;
stand+up stood standing ;
bootstrap* bootstrapped bootstrapping ;
unfreeze unfroze/unfrozen unfreezing ;
unsuspend unsuspended unsuspending ;
reinstate* reinstated reinstating ;
wake*+up woke/woken waking ;
warm*+up warmed warming ;
get+running/working/online/going got getting ;
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
tear+down tore/torn tearing ; teardown
bring+down brought bringing ;
spin+down spun spinning ;
wind+down wound winding ;
freeze* froze freezing ;
quiesce quiesced quiescing ;
decom decommed decomming ;
retire* retired retiring ;
unload* unloaded unloading ;
unschedule unscheduled unscheduling ;
cut+off cut cutting ;
knock+out/offline knocked knocking ;
shed* shed shedding ;
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
vacuum vacuumed vacuuming ; vacuum gc
reclaim* reclaimed reclaiming ;
discard* discarded discarding ;
revoke* revoked revoking ; revocation
invalidate invalidated invalidating ; invalidation
trim trimmed trimming ;
compress compressed compressing ; compression
archive archived archiving ;
nuke nuked nuking ;
zap zapped zapping ;
scrub* scrubbed scrubbing ;
sweep* swept sweeping ;
trash* trashed trashing ;
destroy* destroyed destroying ;
shred* shredded shredding ;
unlink unlinked unlinking ;
tidy+up tidied tidying ;
reap* reaped reaping ;
undeploy undeployed undeploying ;
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
upscale upscaled upscaling ;
downscale downscaled downscaling ;
downsize downsized downsizing ;
upsize upsized upsizing ;
rightsize rightsized rightsizing ;
boost* boosted boosting ;
halve*~ halved halving ;
triple*~ tripled tripling ;
quadruple*~ quadrupled quadrupling ;
dial+up/down/back dialed/dialled dialing ;
crank+up cranked cranking ;
beef+up beefed beefing ;
top+up topped topping ;
cut*=timeout/limit/limits/replicas/retention/ttl/concurrency/batch/pool/quota cut cutting ;
tighten* tightened tightening ;
loosen* loosened loosening ;
""",
    Family.ROLLBACK: """
roll+back~ rolled rolling ; rollback
rollback rollbacked/rolledback rollbacking ;
revert reverted reverting ; revert reversion
undo undid/undone undoing ;
restore restored restoring ;
downgrade downgraded downgrading ; downgrade
back+out backed backing ;
unwind unwound unwinding ;
fail+back~ failed failing ; failback
switch+back switched switching ;
flip+back flipped flipping ;
put+back=#/version/release/config/configuration/setting/settings/file/image/rule put putting ;
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
hotfix hotfixed hotfixing ;
cherrypick cherrypicked cherrypicking ;
backport* backported backporting ;
commit*=change/changes/fix/hotfix/patch/revert committed committing ;
recompile recompiled recompiling ;
reapply reapplied reapplying ;
build*=image/images/release/package/node/server/instance/cluster/one built building ;
import*=#/dump/backup/data/snapshot/config/configuration/rules imported importing ;
""",
}
