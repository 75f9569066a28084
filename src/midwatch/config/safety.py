"""The `safety` block."""

from pydantic import Field

from midwatch.config.strict import Strict
from midwatch.domain.safety import ControlLevel, SafetyMode


class Safety(Strict):
    mode: SafetyMode = Field(default=SafetyMode.ENFORCE, description="Refuse, or only record what would be refused")
    control_level: ControlLevel = Field(default=ControlLevel.READ_ONLY, description="How far agents may go")
    strict_resolution: bool = Field(default=True, description="Discovery before action; checked, not used yet")
