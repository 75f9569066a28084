"""Secrets in headers of HTTP, as clients print them, as logs quote them and as JSON lists them."""

from collections.abc import Mapping

from midwatch.masking.rule import Pattern
from midwatch.masking.values import measure_header

_QUOTE = r"""(?:\\*["'])?"""
_EQUALS = r"[ \t]*(?::=|=>|[:=])[ \t]*"
_LONG = r"[A-Za-z0-9_\-.+/=~]{20,}"
_SCHEMES = r"bearer|basic|token|negotiate|ntlm|apikey|api-key|key|splunk|sso-key|genie-?key|jwt|oauth|pat"
_HEADERS = (
    r"x-(?:[a-z]+-)*(?:token|key|secret|auth|password|passwd|signature|session|credentials?)"
    r"|private-token|job-token|deploy-token|api-key|apikey|ocp-apim-subscription-key|dd-api-key|dd-application-key"
)

HEADERS: Mapping[str, Pattern] = {
    "authorization": Pattern(
        regex=(
            rf"(?i)\b(?:proxy-)?authorization{_QUOTE}{_EQUALS}(?:\[[ \t]*)?{_QUOTE}"
            rf"(?:(?:{_SCHEMES})[ \t]+([^\s\"'\\,;]{{4,}})"
            r"|(?:digest|aws4-hmac-sha256|hawk|signature|sharedkey|sharedaccesssignature)[ \t]+"
            r"([^\r\n\"'\\]*(?:\"[^\"\r\n]*\"[^\r\n\"'\\]*)*)"
            rf"|({_LONG}))"
            rf"|\bbearer[ \t]+({_LONG})"
            rf"|\b(?:{_HEADERS}){_QUOTE}:[ \t]*(?:\[[ \t]*)?{_QUOTE}([^\s\"'\\,\[\]{{}}]{{6,}})"
        ),
        tag="TOKEN",
        measure=measure_header,
        gate=(
            r"(?i)authorization|bearer[ \t]|(?:-token|-key|apikey)\\*[\"']?:"
            r"|\bx-[a-z\-]*(?:secret|auth|password|passwd|signature|session|credentials?)\\*[\"']?:"
        ),
    ),
    "cookie": Pattern(
        regex=(
            rf"(?i)\bset-cookie2?{_QUOTE}:[ \t]*(?:\[[ \t]*)?{_QUOTE}[^\s=;\"'\\]+=([^\s;\"'\\]+)"
            r"|(?:(?m:^)[ \t]*(?:[<>*-][ \t]+)?|[\"'{,][ \t]*|\\\"|-H[ \t]*[\"']|\s)"
            rf"cookie{_QUOTE}:[ \t]*(?:\[[ \t]*)?{_QUOTE}([^\s=;\"'\\]+=[^\r\n\"'\\]*)"
        ),
        tag="COOKIE",
        gate=r"(?i)cookie2?\\*[\"']?:",
    ),
}
