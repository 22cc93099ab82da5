"""An Apache ActiveMQ broker in a folder of its own, which speaks AMQP 1.0."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from servers.ports import free_port

VARIABLE = "ACTIVEMQ_HOME"
"""Names the folder of a distribution: its unpacked archive, or what ``servers/build-activemq`` makes."""
START_SECONDS = 120
STOP_SECONDS = 30
LOOK_SECONDS = 0.05
GREETING = b"AMQP\x03\x01\x00\x00"
"""The protocol's header for a login; the broker answers with the same."""
SETTINGS = """\
<beans xmlns="http://www.springframework.org/schema/beans"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.springframework.org/schema/beans
    http://www.springframework.org/schema/beans/spring-beans.xsd
    http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core" brokerName="stepward" useJmx="false"
      dataDirectory="{folder}/data" schedulePeriodForDestinationPurge="3600000">
    {watched}<destinationPolicy>
      <policyMap>
        <policyEntries>
          <policyEntry queue="&gt;" gcInactiveDestinations="true" inactiveTimeoutBeforeGC="604800000">
            <deadLetterStrategy><sharedDeadLetterStrategy processExpired="false"/></deadLetterStrategy>
          </policyEntry>
        </policyEntries>
      </policyMap>
    </destinationPolicy>
    <persistenceAdapter><kahaDB directory="{folder}/data/kahadb"/></persistenceAdapter>
    <plugins>
      <simpleAuthenticationPlugin>
        <users>
          <authenticationUser username="guest" password="guest" groups="stepward"/>
          {users}<authenticationUser username="web" password="web" groups="none"/>
        </users>
      </simpleAuthenticationPlugin>
      <authorizationPlugin>
        <map>
          <authorizationMap>
            <authorizationEntries>
              <authorizationEntry queue="stepward.&gt;" read="stepward" write="stepward" admin="stepward"/>
              <authorizationEntry topic="stepward.&gt;" read="stepward" write="stepward" admin="stepward"/>
              <authorizationEntry queue="*.stepward.&gt;" read="stepward" write="stepward" admin="stepward"/>
              <authorizationEntry topic="*.stepward.&gt;" read="stepward" write="stepward" admin="stepward"/>
              <authorizationEntry queue="orders-demo-looks-on" read="stepward" write="stepward" admin="stepward"/>
              <authorizationEntry topic="ActiveMQ.Advisory.&gt;" read="stepward,none" write="stepward,none"
                admin="stepward,none"/>
            </authorizationEntries>
          </authorizationMap>
        </map>
      </authorizationPlugin>
    </plugins>
    <systemUsage>
      <systemUsage>
        <memoryUsage><memoryUsage limit="128 mb"/></memoryUsage>
        <storeUsage><storeUsage limit="2 gb"/></storeUsage>
        <tempUsage><tempUsage limit="256 mb"/></tempUsage>
      </systemUsage>
    </systemUsage>
    <transportConnectors>
      <transportConnector name="amqp" uri="amqp+nio://127.0.0.1:{port}?transport.tcpNoDelay=true"/>
    </transportConnectors>
  </broker>
</beans>
"""
"""As docs/amqp10.md has it: one login that may do everything at Stepward's names, and one that may do nothing."""


USER = '<authenticationUser username="{name}" password="{password}" groups="stepward"/>'
NO_MORE: Mapping[str, str] = {}
WATCHED = "orders-demo-looks-on"
"""The queue of copies of a server that lets others look on."""
COPIED = f"""\
<destinationInterceptors>
      <virtualDestinationInterceptor>
        <virtualDestinations>
          <compositeQueue name="stepward.&gt;" forwardOnly="false">
            <forwardTo><queue physicalName="{WATCHED}"/></forwardTo>
          </compositeQueue>
        </virtualDestinations>
      </virtualDestinationInterceptor>
    </destinationInterceptors>
    """
"""Puts a copy of each message for one of Stepward's queues into that queue, whether it is read or not."""


def distribution() -> Path | None:
    """The folder that the environment names, if it has the module for AMQP."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else None
    if folder is None or not any(folder.glob("lib/**/activemq-amqp*.jar")):
        return None
    return folder.resolve()


class ActiveMqServer:
    """One broker; its verbs block until they are done. One that `is_watched` lets others look on."""

    name = "ActiveMQ"

    def __init__(
        self,
        programs: Path,
        folder: Path,
        port: int | None = None,
        *,
        is_watched: bool = False,
        passwords: Mapping[str, str] = NO_MORE,
    ) -> None:
        """``passwords`` by login: of more logins that may do everything at Stepward's names."""
        users = (USER.format(name=name, password=password) for name, password in passwords.items())
        self._users = "".join(users)
        self.port = port or free_port()
        self._copied = COPIED if is_watched else ""
        self._programs = programs
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What a client connects to."""
        return f"amqp10://guest:guest@127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self._process is not None, "runs"
        return self._process.pid

    def start(self) -> None:
        """Start it where it was, and wait until it takes connections."""
        settings = self._folder / "activemq.xml"
        settings.write_text(
            SETTINGS.format(folder=self._folder, port=self.port, watched=self._copied, users=self._users)
        )
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx512m",
                f"-Dactivemq.home={self._programs}",
                f"-Dactivemq.base={self._folder}",
                f"-Dactivemq.conf={self._folder}",
                f"-Djava.io.tmpdir={self._folder}",
                "-jar",
                str(self._programs / "bin" / "activemq.jar"),
                "start",
                f"xbean:file:{settings}",
            ],
            cwd=self._folder,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._await_ready(self._process)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # It may have ended by itself.
                self._signal(signal.SIGKILL)
            self._process.wait(STOP_SECONDS)
            self._process = None

    def pause(self) -> None:
        """Let it do nothing until ``resume``."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def wipe(self) -> None:
        """Crash it, delete everything that it kept, and start it again."""
        self.kill()
        shutil.rmtree(self._folder / "data", ignore_errors=True)
        self.start()

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.perf_counter() + START_SECONDS
        while not self._is_ready():
            if process.poll() is not None or time.perf_counter() > end:
                raise RuntimeError(
                    f"ActiveMQ: expected it to start within {START_SECONDS} s from {self._programs}, found it did not; "
                    "start it by hand with the settings that it has there"
                )
            time.sleep(LOOK_SECONDS)

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as client:
                client.sendall(GREETING)
                return client.recv(len(GREETING)) == GREETING
        except OSError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        os.killpg(self.pid, number)


@contextmanager
def running(programs: Path, passwords: Mapping[str, str] = NO_MORE) -> Iterator[ActiveMqServer]:
    """A new broker with these further logins, begun and gone with the block."""
    with home() as folder:
        server = ActiveMqServer(programs, folder, passwords=passwords)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@contextmanager
def home() -> Iterator[Path]:
    """A folder for one broker, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stepward-activemq-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
