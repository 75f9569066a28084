"""Every rule of masking can be named in a server's settings."""

from midwatch.masking.patterns import GROUPS, PATTERNS, STRUCTURES
from tests.unit.config.folder import Folder


def test_every_rule_and_every_group_can_be_chosen(folder: Folder) -> None:
    names, groups = ", ".join((*PATTERNS, *STRUCTURES)), ", ".join(GROUPS)
    masking = f"    data_masking: {{patterns: [{names}], pattern_groups: [{groups}]}}\n"
    folder.change("    transport:", f"{masking}    transport:")
    chosen = folder.load().mcp_servers["logs"].data_masking
    assert (chosen.patterns, chosen.pattern_groups) == ((*PATTERNS, *STRUCTURES), (*GROUPS,))
