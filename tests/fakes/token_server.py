"""Where Google hands out tokens, on loopback: to service accounts that prove who they are, and to its own machines."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from midwatch.kit import json

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@dataclass(slots=True, kw_only=True)
class TokenServer:
    key: rsa.RSAPrivateKey
    url: str = ""
    lifetime: int = 3600
    """Seconds a token is good for."""
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """Answers wait for it."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    tokens: int = 0

    @property
    def key_file(self) -> str:
        """The JSON of an account's key, as Google hands it out."""
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        account = {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": "k1",
            "private_key": pem.decode(),
            "client_email": "watch@p.iam.gserviceaccount.com",
            "token_uri": self.url,
        }
        return json.encode_text(account)

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        lengths = [line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:")]
        form = parse_qs((await reader.readexactly(int(lengths[0] if lengths else 0))).decode())
        self.asked.set()
        await self.release.wait()
        status, answer = self._answer_machine(head) if "assertion" not in form else self._answer(form["assertion"][0])
        body = json.encode(answer)
        writer.write(b"HTTP/1.1 %d x\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(body), body))
        await writer.drain()
        writer.close()

    def _answer(self, assertion: str) -> tuple[int, dict[str, Any]]:
        if not _is_signed(assertion, self.key):
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        return self._hand_out()

    def _answer_machine(self, head: str) -> tuple[int, dict[str, Any]]:
        return self._hand_out() if "metadata-flavor: google" in head else (403, {})

    def _hand_out(self) -> tuple[int, dict[str, Any]]:
        self.tokens += 1
        return 200, {"access_token": f"token-{self.tokens}", "expires_in": self.lifetime, "token_type": "Bearer"}


@asynccontextmanager
async def serve_tokens(*, is_held: bool = False, lifetime: int = 3600) -> AsyncGenerator[TokenServer]:
    server = TokenServer(key=new_key(), lifetime=lifetime)
    if not is_held:
        server.release.set()
    listener = await asyncio.start_server(server.serve_connection, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/token"
    try:
        yield server
    finally:
        server.release.set()
        listener.close()
        await listener.wait_closed()


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _is_signed(assertion: str, key: rsa.RSAPrivateKey) -> bool:
    signed, _, signature = assertion.rpartition(".")
    claims = json.decode(_unpack(signed.partition(".")[2]))
    try:
        key.public_key().verify(_unpack(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return claims["scope"] == _SCOPE


def _unpack(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
