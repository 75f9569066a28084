"""Secrets that are known by their own shape, wherever they stand."""

from collections.abc import Mapping

from midwatch.masking.rule import Pattern
from midwatch.masking.values import measure_shape, measure_value

_LETTER = r"[A-Za-z0-9_\-]"

_SERVICE_TOKENS = (
    rf"gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|soat|wt|ffct)-{_LETTER}{{20,}}(?:\.{_LETTER}+)*",  # GitLab
    rf"GR1348941{_LETTER}{{20,}}",
    r"npm_[A-Za-z0-9]{36,}",
    rf"pypi-{_LETTER}{{32,}}",
    r"rubygems_[a-f0-9]{48,}",
    rf"dckr_[op]at_{_LETTER}{{20,}}",
    r"do[opr]_v1_[a-f0-9]{32,}",  # DigitalOcean
    rf"hv[bsr]\.{_LETTER}{{20,}}",  # Vault
    r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32,}",  # Shopify
    rf"SG\.{_LETTER}{{16,}}\.{_LETTER}{{16,}}",  # SendGrid
    r"xkeysib-[a-f0-9]{32,}-[A-Za-z0-9]{8,}",
    r"gl(?:c_[A-Za-z0-9+/]{32,}={0,2}|sa_[A-Za-z0-9]{32}_[a-f0-9]{8})",  # Grafana
    r"NR(?:AK|JS|II|AA|RA)-[A-Za-z0-9_\-]{24,}",  # New Relic
    r"dt0[a-z]{1}[0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
    r"sntry[su]_[A-Za-z0-9+/=_\-]{32,}",
    r"dapi[a-f0-9]{32}(?:-[0-9])?",  # Databricks
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_\-.]{40,}",  # Doppler
    r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_LETTER}{{60,}}",  # Terraform Cloud
    r"AT(?:ATT3|BB|CTT3)[A-Za-z0-9_\-=]{20,}",  # Atlassian
    r"tskey-[a-z]+-[A-Za-z0-9]{6,}-?[A-Za-z0-9]{10,}",  # Tailscale
    r"pul-[a-f0-9]{40}",  # Pulumi
    r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_\-]{20,}",  # Supabase
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.]{32,}",
    rf"f[mo][12]_{_LETTER}{{40,}}",  # Fly
    r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,}",  # Square
    r"LTAI[A-Za-z0-9]{12,}",  # Alibaba
    r"hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{40,}",
    r"nfp_[A-Za-z0-9]{36,}|figd_[A-Za-z0-9_\-]{32,}|ntn_[A-Za-z0-9]{40,}|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    rf"sha256~{_LETTER}{{40,}}",  # OpenShift
    r"K10[a-f0-9]{64}::[a-z]+:[A-Za-z0-9]{16,}",  # k3s
    r"SWMTKN-1-[a-z0-9]{40,}-[a-z0-9]{20,}",  # Docker Swarm
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    rf"[0-9]{{8,10}}:AA{_LETTER}{{33}}",  # Telegram
    r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}",  # Cloudflare
    r"HRKU-[A-Za-z0-9_\-]{32,}",
    r"(?:EAAA|EAAC|EAAG)[A-Za-z0-9]{60,}",
)

_SERVICE_GATE = (
    r"\bgl[a-z]{1,5}-|GR1348941|npm_|pypi-|rubygems_|dckr_|do[opr]_v1_|hv[bsr]\.|shp[a-z]{2}_|SG\.|xkeysib-|gl(?:c|sa)_"
    r"|NR[A-Z]{2}-|dt0[a-z]|sntry|dapi|dp\.[a-z]{2,5}\.|lin_(?:api|oauth)_|PMAK-|\.atlasv1\.|AT(?:ATT3|BB|CTT3)|tskey-"
    r"|pul-|sbp_|sb_secret_|pscale_|\bf[mo][12]_|sq0|LTAI|hf_|gsk_|xai-|r8_|pplx-|nfp_|figd_|ntn_|\bpat[A-Za-z0-9]{14}\."
    r"|sha256~|K10[a-f0-9]|SWMTKN|AGE-SECRET|:AA|v1\.0-|HRKU-|EAA[ACG]"
)
"""How they begin, or what is in them: looked for everywhere, it must not depend on what stands before it."""

TOKENS: Mapping[str, Pattern] = {
    "jwt": Pattern(
        regex=rf"\b(eyJ{_LETTER}{{10,}}\.{_LETTER}{{10,}}(?:\.{_LETTER}*)*)", tag="TOKEN", gate=rf"eyJ{_LETTER}"
    ),
    "github_token": Pattern(
        regex=r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
        tag="GITHUB_TOKEN",
        gate=r"gh[pousr]_|github_pat_",
    ),
    "slack_token": Pattern(
        regex=(
            r"\b(xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})"
            r"|hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/]{20,})"
        ),
        tag="SLACK_TOKEN",
        gate=r"xox[a-z][-.]|xapp-|hooks\.slack",
    ),
    "webhook_url": Pattern(
        regex=(
            rf"(?i)discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{{6,}}/({_LETTER}{{20,}})"
            r"|webhook\.office\.com/webhookb2/([a-z0-9@/\-]{20,})|outlook\.office(?:365)?\.com/webhook/([a-z0-9@/\-]{20,})"
            r"|events\.pagerduty\.com/(?:integration|x-ere)/([a-z0-9]{16,})|hooks\.zapier\.com/hooks/catch/([a-z0-9/]{10,})"
            r"|maker\.ifttt\.com/trigger/[^/\s]+/(?:json/)?with/key/([a-z0-9_\-]{20,})"
            r"|/hooks/([a-z0-9]{26})\b|/bot([0-9]{8,10}:AA[a-z0-9_\-]{30,})"
            r"|chat\.googleapis\.com/v1/spaces/[^\s\"']*?[?&]key=([^\s\"'&]+)&token=([^\s\"'&\\]+)"
        ),
        tag="WEBHOOK",
        gate=(
            r"(?i)/webhook|pagerduty\.com/|hooks\.zapier|ifttt\.com/|/hooks/|chat\.googleapis|/bot[0-9]|webhook\.office"
        ),
    ),
    "provider_key": Pattern(
        regex=rf"\b(sk-{_LETTER}{{20,}}|[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[A-Za-z0-9+/=]{{20,}})",
        tag="API_KEY",
        measure=measure_shape,
        gate=r"\bsk-|[rs]k_(?:live|test)_|whsec_",
    ),
    "service_token": Pattern(regex=rf"\b({'|'.join(_SERVICE_TOKENS)})", tag="TOKEN", gate=_SERVICE_GATE),
    "google_key": Pattern(
        regex=rf"\b(AIza{_LETTER}{{35,}}|ya29\.[A-Za-z0-9_\-.]{{20,}}|GOCSPX-{_LETTER}{{20,}}|1//0{_LETTER}{{30,}})",
        tag="API_KEY",
        gate=r"AIza|ya29\.|GOCSPX-|1//0",
    ),
    "aws_key_id": Pattern(regex=r"\b((?:AKIA|ASIA)[A-Z0-9]{16,})", tag="AWS_KEY", gate="AKIA|ASIA"),
    "azure_key": Pattern(
        regex=(
            r"(?i)\b(?:AccountKey|SharedAccessKey|SharedSecretValue|AccessKey)[ \t]*=[ \t]*([A-Za-z0-9+/=%]{20,})"
            r"|\b((?-i:[A-Za-z0-9_~.\-]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34}))"
            r"|\b([A-Za-z0-9]{70,80}(?-i:AZDO)[A-Za-z0-9]{4})"
            r"|\b([A-Za-z0-9+/]{40,90}(?-i:\+AMC|AzCa|AzSe|AzFu|ACDb|ASt|AIoT|APIM)[A-Za-z0-9+/]{5,12}={0,2})"
        ),
        tag="AZURE_KEY",
        gate=(
            r"(?i:(?:AccountKey|SharedAccessKey|SharedSecretValue|AccessKey)[ \t]*=)"
            r"|[0-9]Q~|AZDO|\+AMC|AzCa|AzSe|AzFu|ACDb|ASt|AIoT|APIM"
        ),
    ),
    "signed_url": Pattern(
        regex=(
            r"(?i)(?:[?&;]|\b)(?:sig|x-(?:amz|goog|ms)-signature|x-amz-security-token)=([^\s\"'\\&<>;,)\]}]{16,})"
            r"|[?&]signature=([^\s\"'\\&<>;,)\]}]{16,})"
        ),
        tag="SIGNATURE",
        gate=r"(?i)sig(?:nature)?=|security-token=",
    ),
    "url_password": Pattern(
        regex=rf"""://(?:[^\s:/@"'?#\\]*:([^\s"'/?#\\]+)|({_LETTER}{{20,}}))@""",
        tag="PASSWORD",
        measure=measure_value,
        gate=r"://[^\s/]*@",
    ),
    "connection_string": Pattern(
        regex=(
            r"\b[\w.\-]+:([^\s:@/\"'\\]+(?:@[^\s:@/\"'\\(]+)*)@(?:tcp|unix|tcp6)\("
            r"|(?i:jdbc:oracle:[a-z]+:[^/\s\"']+/([^\s@\"']+)@)"
            r"|(?m:^)[\w.*\-]+:(?:5432|5433|6432|\*):[^:\s]+:[^:\s]+:([^\s:]+)[ \t\r]*(?m:$)"
            r"|(?i:\bmachine[ \t]+\S+[ \t]+login[ \t]+\S+[ \t]+password[ \t]+(\S+))"
            r"|(?i:\blogin[ \t]+\S+[ \t]+password[ \t]+(\S+))"
        ),
        tag="PASSWORD",
        measure=measure_value,
        gate=r"@(?:tcp|unix|tcp6)\(|(?i:jdbc:oracle)|:(?:5432|5433|6432|\*):|(?i:password[ \t])",
    ),
    "password_hash": Pattern(
        regex=(
            r"(\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-?[a-z0-9]*)\$[./A-Za-z0-9$=,+]{20,})"
            r"|(?i:\bSCRAM-SHA-256\$[0-9]+:([A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+))"
            r"|\b(md5[a-f0-9]{32})\b|(\{(?:SSHA|SHA|SMD5|CRYPT|SSHA256|SSHA512)\}[A-Za-z0-9+/=$.]{20,})"
        ),
        tag="PASSWORD_HASH",
        gate=(
            r"\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2|scrypt|pbkdf2)|(?i:SCRAM-SHA)|\bmd5[a-f0-9]"
            r"|\{(?:SSHA|SHA|SMD5|CRYPT)"
        ),
    ),
}
"""In the order in which they apply."""
