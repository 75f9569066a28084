"""How a rule deep in the tree ends the inquiry: the construct is not one we can vouch for."""

from midwatch.safety.shell.verdict import Finding, Phase, Risk, write_finding


class Beyond(Exception):
    """Not an error: a construct that makes the whole command a write."""

    def __init__(self, rule: str, part: str = "", risk: Risk = Risk.MEDIUM) -> None:
        super().__init__(rule)
        self.finding: Finding = write_finding(rule, phase=Phase.GUARD, risk=risk, part=part)
