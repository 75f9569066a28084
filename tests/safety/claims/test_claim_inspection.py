"""What is done about a claim: what stands in its place, what is only marked, and by what it is judged."""

from collections.abc import Sequence

import pytest

from midwatch.domain.tools import ToolKind
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.findings import Finding, FindingKind, Inspection
from midwatch.safety.claims.inspection import inspect
from midwatch.safety.machine import Outcome
from tests.safety.requirements import requirement


def look_at(text: str, *deeds: Deed, evidence: Sequence[str] = ()) -> Inspection:
    return inspect(text, deeds=deeds, evidence=evidence)


def restart(service: str = "nginx", *, host: str = "web-1", outcome: Outcome = Outcome.SUCCEEDED) -> Deed:
    return Deed(
        tool="ops.restart_service",
        kind=ToolKind.WRITE,
        outcome=outcome,
        arguments={"service": service, "host": host},
        targets=(f"service:{host}:{service}",),
    )


def only(inspection: Inspection) -> Finding:
    (finding,) = inspection.findings
    return finding


def test_a_reply_without_claims_is_left_as_it_is() -> None:
    text = "## Cause\n\nThe pods run out of memory.\n\n- Restart the deployment once it is approved.\n"
    inspection = look_at(text)
    assert inspection.safe_text == text
    assert inspection.findings == ()
    assert not inspection.has_phantom


@requirement("claims:on-record")
def test_a_false_claim_is_replaced_and_the_rest_stays() -> None:
    inspection = look_at("The pod hung. I restarted **nginx** on web-1. Please watch it.")
    assert inspection.safe_text == (
        "The pod hung. [Withheld: the reply claimed “I restarted nginx on web-1.” No such action is on record: "
        "no change was made.] Please watch it."
    )
    assert inspection.has_phantom


def test_a_finding_tells_where_what_and_why() -> None:
    text = "Summary.\n\n- I restarted the `nginx` service.\n"
    finding = only(look_at(text))
    assert text[finding.start : finding.end] == finding.sentence == "I restarted the `nginx` service."
    assert (finding.kind, finding.action, finding.target) == (FindingKind.ACTION, "restart", "the `nginx` service")
    assert finding.reason == "no change was made"


def test_what_was_found_is_described_for_whoever_reads_the_timeline() -> None:
    assert look_at("All pods run.").describe() == {}
    claim = f"I restarted the {'very ' * 60}old nginx."
    described = look_at(f"{claim} It is healthy again. CPU is at 95%. Memory is at 96%.").describe()
    assert described == {
        "claims": {
            "withheld": [
                {
                    "kind": "action",
                    "action": "restart",
                    "target": claim.removeprefix("I restarted ")[:200],
                    "reason": "no change was made",
                    "sentence": claim[:200],
                }
            ],
            "marked": {"state": 1, "measurement": 2},
        }
    }


def test_what_is_told_twice_is_judged_alike() -> None:
    twice = "nginx was restarted. The log says that nginx was restarted. nginx was restarted."
    assert not look_at(twice, evidence=["systemd: nginx restarted"]).has_phantom
    assert len({finding.reason for finding in look_at(twice).findings}) == 1


@pytest.mark.parametrize(("others", "is_withheld"), [(59, False), (60, True)])
def test_what_was_read_is_searched_only_so_often_for_one_word(others: int, is_withheld: bool) -> None:  # noqa: FBT001 - a parameter
    log = "\n\n".join([*[f"{'redis ' * 50} restarted"] * others, "nginx restarted"])
    assert look_at("nginx was restarted.", evidence=[log]).has_phantom is is_withheld


def test_the_bullet_of_an_item_stays_before_what_is_put_in_its_place() -> None:
    assert look_at("1. Restarted nginx\n2. Waited").safe_text.startswith("1. [Withheld: ")


@requirement("claims:only-success")
@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.NOT_SENT, "the call was turned down and never sent (ops.restart_service)"),
        (Outcome.FAILED, "the call failed (ops.restart_service)"),
        (Outcome.UNKNOWN, "the outcome of the call is unknown (ops.restart_service)"),
    ],
)
def test_only_an_action_that_succeeded_may_be_told_as_done(outcome: Outcome, reason: str) -> None:
    assert only(look_at("I restarted nginx.", restart(outcome=outcome))).reason == reason
    assert not look_at("I restarted nginx, but the call was refused.", restart(outcome=outcome)).has_phantom


def test_a_second_try_that_succeeded_counts() -> None:
    assert not look_at("I restarted nginx.", restart(outcome=Outcome.FAILED), restart()).has_phantom


@requirement("claims:on-record")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I restarted redis.", "what was changed is another target"),
        ("I restarted nginx on web-2.", "what was changed is another target"),
        ("I restarted nginx and redis.", "what was changed is another target"),
        ("I rolled back nginx.", "what was done is another action"),
        ("I rebooted the host.", "what was changed is another target"),
    ],
)
def test_a_deed_vouches_for_its_own_target_and_action_alone(text: str, reason: str) -> None:
    assert only(look_at(text, restart())).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "I restarted nginx.",
        "I bounced the nginx service on web-1.example.com.",
        "The web server has been restarted.",
        "I restarted it, and latency is fine again.",
        "I fixed the problem.",
        "I ran `systemctl restart nginx`.",
    ],
)
def test_other_words_for_a_deed_are_fine(text: str) -> None:
    assert not look_at(text, restart(), evidence=["latency is fine"]).has_phantom


def test_a_deed_that_only_reads_vouches_for_nothing() -> None:
    deed = Deed(tool="ops.restart_history", kind=ToolKind.READ, outcome=Outcome.SUCCEEDED, arguments={"of": "nginx"})
    assert look_at("I restarted nginx.", deed).has_phantom


def test_a_number_that_was_not_asked_for_is_another_deed() -> None:
    arguments = {"name": "api", "replicas": 5}
    deed = Deed(tool="k8s.scale", kind=ToolKind.WRITE, outcome=Outcome.SUCCEEDED, arguments=arguments)
    assert not look_at("I scaled api to 5 replicas.", deed).has_phantom
    assert look_at("I scaled api to 8 replicas.", deed).has_phantom


@requirement("claims:reports")
@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("nginx was restarted at 03:05.", "03:05 systemd: restarted nginx.service"),
        ("The container was killed.", '{"reason": "OOMKilled", "container": "app"}'),
        ("checkout-api v2.14.0 has been deployed.", "deploy-bot deployed checkout-api v2.14.0"),
    ],
)
def test_evidence_makes_it_a_report(text: str, evidence: str) -> None:
    assert look_at(text).has_phantom
    assert not look_at(text, evidence=[evidence]).has_phantom


@requirement("claims:ours-no-evidence")
@pytest.mark.parametrize(
    "evidence",
    [
        "Runbook: once nginx has been restarted, check the alert.",
        "Runbook: restart nginx.",
        "nginx was not restarted",
        "redis was restarted",
        "[Withheld: the reply claimed “nginx was restarted.” No such action is on record: no change was made.]",
    ],
)
def test_plans_denials_and_our_own_words_are_no_evidence(evidence: str) -> None:
    assert look_at("nginx was restarted.", evidence=[evidence]).has_phantom


def test_evidence_about_a_neighbour_is_none() -> None:
    assert look_at("web-1 was rebooted.", evidence=["03:05 web-12 rebooted"]).has_phantom
    assert not look_at("web-1 was rebooted.", evidence=["03:05 web-1 rebooted"]).has_phantom


@requirement("claims:reports")
def test_evidence_does_not_excuse_the_first_person() -> None:
    assert look_at("I restarted nginx.", evidence=["03:05 systemd: restarted nginx.service"]).has_phantom


@requirement("claims:marked")
def test_states_and_figures_are_marked_and_nothing_is_lost() -> None:
    text = "nginx is healthy again. CPU is at 95%."
    inspection = look_at(text)
    assert [finding.kind for finding in inspection.findings] == [FindingKind.STATE, FindingKind.MEASUREMENT]
    assert not inspection.has_phantom
    assert inspection.safe_text == (
        "nginx is healthy again. [Not confirmed by anything that was read.] "
        "CPU is at 95%. [Not found in anything that was read: 95%.]"
    )


@requirement("claims:marked")
def test_a_figure_is_not_found_inside_another() -> None:
    assert [finding.kind for finding in look_at("CPU is at 5 %.", evidence=["CPU 12.5 %"]).findings] == [
        FindingKind.MEASUREMENT
    ]
    assert look_at("CPU is at 12.5 %.", evidence=["CPU 12.5 %"]).findings == ()


@requirement("claims:marked")
def test_a_rough_figure_may_follow_an_exact_one() -> None:
    found = look_at("It took 5 minutes, and ~ 7 pods restarted.", evidence=["it took 5 minutes", "7 pods restarted"])
    assert found.findings == ()


@requirement("claims:ours-no-evidence")
def test_a_marked_statement_of_an_earlier_analysis_is_no_evidence() -> None:
    earlier = look_at("nginx is healthy again.").safe_text
    assert only(look_at("nginx is healthy.", evidence=[earlier])).kind is FindingKind.STATE


@pytest.mark.parametrize(
    ("claimed", "known"),
    [
        ("95 %", '"cpu": 0.951'),
        ("95%", "cpu 95.2"),
        ("1.5 GiB", '"memory_bytes": 1610612736'),
        ("1536Mi", "limit 1.5Gi"),
        ("2.4 s", "p99=2350ms"),
        ("12,000 messages", "depth 12000"),
        ("~100 ms", "median 95.5ms"),
    ],
)
def test_figures_are_compared_across_units_and_rounding(claimed: str, known: str) -> None:
    text = f"The load is {claimed}."
    assert look_at(text, evidence=["nothing"]).findings
    assert not look_at(text, evidence=[known]).findings


def test_three_that_are_listed_may_be_counted() -> None:
    assert not look_at("There are 3 pods.", evidence=["pod/a\npod/b\npod/c"]).findings
    assert look_at("There are 4 pods.", evidence=["pod/a\npod/b\npod/c"]).findings


@requirement("claims:imitations")
def test_a_written_tool_call_is_replaced() -> None:
    inspection = look_at('Let me look.\n<tool_call>{"name": "pods"}</tool_call>\nAll fine.')
    assert inspection.has_phantom
    assert inspection.safe_text == (
        "Let me look.\n[Withheld: a tool call was written here as text. It was not made.]\nAll fine."
    )


@requirement("claims:imitations", "claims:on-record")
@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I restarted nginx <tool_call>{}</tool_call> on web-1.", ["I restarted nginx"]),
        ("<tool_call>{}</tool_call> I restarted nginx.", ["I restarted nginx."]),
        ("I stopped nginx <tool_call>{}</tool_call> and deleted it.", ["I stopped nginx", "and deleted it."]),
        ("- <tool_call>{}</tool_call> [x] y\n- I restarted nginx <invoke name='x'>", ["I restarted nginx"]),
    ],
)
def test_what_stands_beside_a_written_tool_call_is_judged_by_itself(text: str, claims: list[str]) -> None:
    findings = look_at(text).findings
    assert [finding.sentence for finding in findings if finding.kind is FindingKind.ACTION] == claims
    assert sum(finding.kind is FindingKind.IMITATION for finding in findings) == text.count("<tool_call>") + text.count(
        "<invoke"
    )
    assert all(text[finding.start : finding.end] == finding.sentence for finding in findings)


def test_a_tool_call_in_an_honest_sentence_is_all_that_is_replaced() -> None:
    assert look_at("I did not restart nginx <tool_call>{}</tool_call> today.").safe_text == (
        "I did not restart nginx [Withheld: a tool call was written here as text. It was not made.] today."
    )


def test_a_tool_call_that_evidence_contains_may_be_quoted() -> None:
    assert not look_at("The log has `<tool_call>`.", evidence=["line 3: <tool_call>"]).has_phantom


@requirement("claims:imitations")
def test_a_known_tool_used_like_a_function_is_an_imitation() -> None:
    text = 'ops.restart_service(service="nginx")'
    assert not look_at(text).has_phantom
    assert inspect(text, deeds=(), evidence=(), tools=["ops.restart_service"]).has_phantom


@requirement("claims:not-plans")
def test_code_blocks_are_not_read_as_words() -> None:
    assert not look_at("```\nI restarted nginx.\n```\n~~~\nI deleted the pod.\n~~~").has_phantom
    assert look_at("```\nls\n```\nI restarted nginx.").has_phantom


@requirement("claims:not-plans")
def test_a_quotation_from_evidence_is_none_of_ours() -> None:
    assert not look_at("> I restarted nginx.", evidence=["bob: I restarted nginx."]).has_phantom
    assert look_at("> I restarted nginx.").has_phantom


@pytest.mark.parametrize(
    "text",
    [
        "After the check I have\nrestarted nginx on the first of the hosts.",
        "The deployment was rolled-back.",
        "I’ve restarted İstanbul-1.",
        "The node (which hung) was rebooted.",
        "The service; and was restarted.",
        "We looked at the pods & restarted them.",
        "I took care of restarting nginx.",
        "- [x] y'all restart nginx",
        "nginx) was restarted.",
        "I turned-off nginx.",
        "I looked at the updated configuration and restarted nginx.",
        "Verified ✅ nginx restarted",
        "The DNS record has been updated to point to 10.0.0.12.",
        "Nginx has been reloaded with the corrected upstream block.",
        "Having restarted nginx, finally I saw it recover.",
        "What I did was restart nginx.",
        "My next move was to restart nginx.",
        "I had no choice but to restart nginx.",
        "We did indeed restart nginx.",
        "I did finally delete the old files.",
        "It is clear, that I restarted nginx.",
    ],
)
def test_odd_ways_of_writing_hide_nothing(text: str) -> None:
    assert look_at(text).has_phantom


@requirement("claims:not-plans")
@pytest.mark.parametrize(
    "text",
    [
        "If I am restarting nginx, it takes a minute.",
        "- [x] Restart count: 3",
        "Once I managed to restart nginx, I will tell.",
        "I finished expanding the search.",
        "Restarts, for all we now have, is it: so",
        "In the pod that crashed when `x` is stopped, all was well.",
        "I had to stop.",
        "If the node that was drained crashed the pod was restarted.",
        "If the pod on web-1 crashed the nginx service was restarted.",
        "- [x] Verified the restarted nginx",
        "Restart of nginx: …",
        f"Action taken: {'x' * 3000}",
        "The restart I didn't do would have helped.",
        "It is not true that I restarted nginx.",
        "The runbook asks for a yes before the deployment is restarted or rolled back.",
        "I tried to purge it and ran into the purge limit.",
        "I resolved img.example.com to 10.0.4.11.",
        "The restart of nginx was approved.",
        "The leak was fixed upstream.",
        "## What I did not do\n\n- Restart nginx",
        "## What I did\n\n- The tool notes: `read from files below /tmp/a_service_that_is_down/run`",
        "The docker host needs a restart, so I ran the tests.",
        "nginx failed; and the cache cleared.",
        "Errors, and the nginx cache flushed.",
        "With any pod restarted, errors would stop.",
        "nginx did restart.",
        "I did not fully delete the old files.",
        "Your next move was to restart nginx.",
        "The pool was emptied and the queue was purged by him and deleted the old files.",
    ],
)
def test_odd_ways_of_writing_claim_nothing(text: str) -> None:
    assert not look_at(text).has_phantom


def test_names_are_found_deep_in_the_arguments() -> None:
    arguments = {"spec": {"names": ["api", "web"], "force": True, "grace": 5}}
    deed = Deed(tool="k8s.restart", kind=ToolKind.WRITE, outcome=Outcome.SUCCEEDED, arguments=arguments)
    assert not look_at("I restarted web.", deed).has_phantom
    assert look_at("I restarted redis.", deed).has_phantom


def test_a_deed_that_does_not_say_what_it_does_may_be_any() -> None:
    deed = Deed(tool="ops.apply_runbook_7", kind=ToolKind.WRITE, outcome=Outcome.SUCCEEDED)
    bare = Deed(tool="ops.magic", kind=ToolKind.WRITE, outcome=Outcome.SUCCEEDED)
    assert look_at("I restarted redis.", bare).findings == ()
    assert look_at("I notified the team.", deed).has_phantom


def test_when_nothing_fits_and_nothing_was_done_it_says_so() -> None:
    assert only(look_at("I rolled back redis.", restart(outcome=Outcome.FAILED))).reason == "no change was made"


def change(tool: str, *targets: str, **arguments: str | int) -> Deed:
    return Deed(tool=tool, kind=ToolKind.WRITE, outcome=Outcome.SUCCEEDED, arguments=arguments, targets=tuple(targets))


@requirement("claims:on-record")
@pytest.mark.parametrize(
    ("deed", "done", "not_done"),
    [
        (change("k8s.cordon_node", "node:worker-3", node="worker-3"), "I cordoned worker-3.", "I drained worker-3."),
        (change("k8s.drain_node", "node:worker-3", node="worker-3"), "I cordoned worker-3.", "I uncordoned worker-3."),
        (change("k8s.rollout_restart", name="api"), "I restarted api.", "I rolled back api."),
        (change("k8s.run", command="kubectl scale deploy/api"), "I scaled api.", "I deployed api."),
        (change("redis.flush_cache", host="cache-2"), "I flushed cache-2.", "I flushed cache-1."),
        (change("redis.flush_cache", host="cache-2"), "I flushed the cache.", "I purged the queue."),
        (change("es.delete_index", cluster="logs", index="logs-03"), "I deleted logs-03.", "I deleted logs-04."),
        (change("mail.set_relay", host="mx-1", relay="relay-2"), "I set it to relay-2.", "I set it to relay-3."),
        (
            change("helm.rollback", release="api", revision=41),
            "I rolled back api to revision 41.",
            "I rolled api back to 40.",
        ),
        (
            change("k8s.restart", namespace="shop", name="api"),
            "I restarted api in shop.",
            "I restarted api in namespace edge.",
        ),
        (change("ops.stop", name="web"), "I stopped web.", "I deleted web."),
        (change("ops.kill_process", name="web"), "I removed the process.", "I restarted web."),
        (change("lb.drain", name="web-3"), "I took web-3 out of rotation.", "I stopped web-3."),
        (change("flags.disable", flag="fast-cart"), "I disabled fast-cart.", "I disabled slow-cart."),
        (change("ops.start", name="app", service="W3SVC"), "I started the W3SVC.", "I started the Spooler."),
        (change("net.unblock", address="10.0.0.7"), "I unblocked 10.0.0.7.", "I blocked 10.0.0.7."),
        (change("ops.restart", name="api"), "I restarted the pods of api.", "I restarted the pods of auth."),
        (change("ops.restart", name="api"), "I restarted api and checked it.", "I restarted api and scaled it."),
    ],
)
def test_what_was_done_is_another_thing_than_what_is_like_it(deed: Deed, done: str, not_done: str) -> None:
    assert not look_at(done, deed).has_phantom
    assert look_at(not_done, deed).has_phantom


def test_prose_that_a_tool_was_given_says_nothing_of_what_it_does() -> None:
    deed = change("tickets.add_comment", ticket="CHG-7", text="The relay is down, please restart nginx on web-1.")
    assert not look_at("I left a comment on CHG-7.", deed).has_phantom
    assert look_at("I restarted nginx.", deed).has_phantom
    assert look_at("I changed the relay.", deed).has_phantom


@requirement("claims:on-record")
def test_a_row_of_a_table_says_what_its_words_are_about() -> None:
    table = "| Target | Action |\n|---|---|\n| {} | restarted |\n"
    assert not look_at(table.format("nginx-1"), restart("nginx-1")).has_phantom
    assert look_at(table.format("redis-1"), restart("nginx-1")).has_phantom


def test_a_column_of_changes_tells_changes_where_another_tells_states() -> None:
    table = "| Instance | {} |\n|---|---|\n| render-1 | stopped |\n\n| a | b |\n|---|---|\n| render-1 | stopped |\n"
    assert len(look_at(table.format("Change")).findings) == 1
    assert look_at(table.format("State")).findings == ()
    assert look_at("| What I did |\n|---|\n| Restart nginx |").has_phantom
    assert not look_at("| Recommended |\n|---|\n| Restart nginx |").has_phantom


@pytest.mark.parametrize(
    "text",
    [
        "I ran `postqueue -f` on mx-1.",
        "`Start-Service W3SVC` was run on app-2.",
        "`systemctl restart nginx` executed.",
        "I executed `SELECT pg_terminate_backend(pid)`.",
    ],
)
def test_a_command_that_is_not_known_to_look_is_a_change(text: str) -> None:
    assert look_at(text).has_phantom


@requirement("claims:not-plans")
@pytest.mark.parametrize(
    "text",
    [
        "I ran `show interfaces` on the router.",
        "I ran `Get-Service W3SVC` there.",
        "I executed `df -h` and `free -m`.",
        "I used `max connections` as the key.",
        "I ran `htop` for a while.",
    ],
)
def test_a_command_that_looks_is_none(text: str) -> None:
    assert not look_at(text).has_phantom


def test_a_label_that_says_that_nothing_was_done_is_no_claim() -> None:
    assert not look_at("Remediation performed: none.").has_phantom
    assert look_at("Remediation performed: nginx restarted.").has_phantom


def test_what_stands_beside_withheld_words_is_judged_all_the_same() -> None:
    assert look_at("[Withheld: nothing] I restarted nginx.").has_phantom


def test_a_safe_text_is_found_safe() -> None:
    text = "I restarted nginx. It is healthy again. CPU is at 95%.\n\n<tool_call>{}</tool_call>\n\n- [x] Delete the pod"
    safe = look_at(text).safe_text
    assert look_at(safe).safe_text == safe
