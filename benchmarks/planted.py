"""Ten megabytes such as tools answer, logs and YAML, with secrets planted in them that are known one by one."""

import json
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Planted:
    text: str
    secrets: Sequence[str]


def plant_secrets(size: int, *, secrets: int, seed: int = 7) -> Planted:
    random = Random(seed)  # noqa: S311 -- a text to measure with
    pieces: list[str] = []
    planted: list[str] = []
    length = 0
    while length < size:
        piece = random.choice(_FILLERS)(random)
        length += len(piece)
        if len(planted) < secrets * length / size:
            secret = _draw(random, _LETTERS, 40)
            planted.append(secret)
            piece += random.choice(_PLACES)(random, secret)
        pieces.append(piece)
    return Planted("".join(pieces), planted)


def _draw(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choices(alphabet, k=length))


def _hex(random: Random, length: int) -> str:
    return _draw(random, _HEX, length)


def _uuid(random: Random) -> str:
    return "-".join(_hex(random, length) for length in (8, 4, 4, 4, 12))


def _write_service_log(random: Random) -> str:
    return "".join(
        f"2026-10-03T10:{random.randint(10, 59)}:{random.randint(10, 59)}.{random.randint(100, 999)}Z INFO  "
        f"[http-nio-{random.randint(1, 9)}] c.e.orders.OrderService - order {_uuid(random)} accepted for customer "
        f"{random.randint(1000, 9999)} in {random.randint(3, 999)} ms, keys=3, tokens used: {random.randint(1, 99)}\n"
        for _ in range(10)
    )


def _write_access_log(random: Random) -> str:
    return "".join(
        f'10.1.{random.randint(0, 255)}.{random.randint(0, 255)} - - [03/Oct/2026:10:11:12 +0000] "GET /api/v1/items/'
        f'{random.randint(1, 99999)}?page=2 HTTP/1.1" 200 {random.randint(100, 9999)} "-" "kube-probe/1.29" rt=0.0'
        f"{random.randint(1, 99)}\n"
        for _ in range(10)
    )


def _write_json_log(random: Random) -> str:
    return "".join(
        f'{{"ts":"2026-10-03T10:11:12Z","level":"info","msg":"reconciled",'
        f'"name":"web-{_hex(random, 10)}-{_hex(random, 5)}","trace_id":"{_hex(random, 32)}","passed":true}}\n'
        for _ in range(8)
    )


def _write_deployment(random: Random) -> str:
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{_hex(random, 5)}
  namespace: shop
  uid: {_uuid(random)}
spec:
  replicas: {random.randint(1, 9)}
  template:
    spec:
      containers:
      - name: web
        image: registry.example.com/shop/web@sha256:{_hex(random, 64)}
        env:
        - name: DB_PASSWORD
          valueFrom:
            secretKeyRef:
              name: db-credentials
              key: password
        - name: LOG_LEVEL
          value: info
        ports:
        - containerPort: 8080
          protocol: TCP
        resources:
          limits:
            cpu: 500m
            memory: 512Mi
      tolerations:
      - effect: NoExecute
        key: node.kubernetes.io/not-ready
        operator: Exists
"""


def _write_key(random: Random, secret: str) -> str:
    body = "\n".join([_draw(random, _LETTERS, 64), secret, _draw(random, _LETTERS, 64)])
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"


def _write_secret(random: Random, secret: str) -> str:
    name = _hex(random, 5)
    return f"---\napiVersion: v1\ndata:\n  value: {secret}\nkind: Secret\nmetadata:\n  name: db-{name}\n---\n"


_Filler = Callable[[Random], str]
_FILLERS: Sequence[_Filler] = (_write_service_log, _write_access_log, _write_json_log, _write_deployment)
_PLACES: Sequence[Callable[[Random, str], str]] = (
    _write_key,
    _write_secret,
    lambda _, secret: f"DB_PASSWORD={secret}\n",
    lambda _, secret: f"      password: {secret}\n",
    lambda _, secret: f"        - name: API_TOKEN\n          value: {secret}\n",
    lambda _, secret: json.dumps({"level": "debug", "token": secret, "msg": "asked"}) + "\n",
    lambda _, secret: f"> authorization: Bearer {secret}\n",
    lambda _, secret: f"connecting to postgres://shop:{secret}@db.example.com:5432/shop\n",
    lambda _, secret: f"pushed with ghp_{secret} to the mirror\n",
    lambda _, secret: f"claims eyJ{secret}.{secret}.{secret} accepted\n",
    lambda _, secret: f"  813 app  mysql -h db -u shop -p{secret} shop\n",
    lambda _, secret: f'aws_secret_access_key = "{secret}"\n',
    lambda _, secret: f"< set-cookie: sid={secret}; Path=/; HttpOnly\n",
    lambda _, secret: f"Server=tcp:db,1433;User ID=shop;Password={secret};Encrypt=True\n",
)
