import { useEffect, useRef } from "react";
import { Button, Card, Duration, Facts, Status, Time } from "../../components";
import { useWords } from "../../words";
import { percentOf } from "../sizes";
import { abilitiesOf } from "./capabilities";
import { Orders } from "./Orders";
import { Running } from "./Running";
import { SHOWN_AS, stateOf } from "./states";
import { ChoicesTable } from "./strategy/ChoicesTable";
import type { Worker } from "./types";
import { words } from "./words";

const RECENT = 10;

export interface DetailsProps {
  readonly worker: Worker;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** All that is known of one worker. */
export function Details({ worker, onClose, onDone }: DetailsProps) {
  const t = useWords(words);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The list may be long, and this stands above it: who chose at its end would see nothing happen.
    const top = place.current?.getBoundingClientRect().top ?? 0;
    if (top < 0 || top > window.innerHeight) place.current?.scrollIntoView({ block: "start" });
  }, [worker.id]);
  const can = abilitiesOf(worker.capabilities);
  const list = (words: readonly string[]) => (words.length ? words.join(" · ") : t("none"));
  const labels = Object.entries(worker.labels).map(([name, value]) => `${name}=${value}`);
  return (
    <div className="worker-details" ref={place}>
      <Card
        title={worker.id}
        actions={
          <Button kind="quiet" onClick={onClose}>
            {t("close")}
          </Button>
        }
      >
        <Facts
          facts={[
            [t("state"), <Status value={SHOWN_AS[stateOf(worker)]} label={t(`state.${stateOf(worker)}`)} />],
            [t("node"), worker.node + (worker.builtIn ? ` (${t("builtIn")})` : "")],
            [t("load"), t("slots", { active: worker.active, slots: worker.slots })],
            [t("cpu"), worker.builtIn ? t("ofItsNode") : percentOf(worker.cpu)],
            [t("memory"), worker.builtIn ? t("ofItsNode") : percentOf(worker.memory)],
            [
              t("success"),
              worker.results < 0.05
                ? t("noResults")
                : `${percentOf(worker.successRate)} ${t("ofResults", { count: Math.round(worker.results) })}`,
            ],
            [t("latency"), worker.latencySeconds ? <Duration seconds={worker.latencySeconds} /> : "–"],
            [t("trip"), worker.roundTripSeconds ? <Duration seconds={worker.roundTripSeconds} /> : "–"],
            [t("beat"), <Time at={worker.lastHeartbeat} style="ago" />],
            [t("kinds"), list(can.kinds)],
            [t("own"), list(can.own)],
            [t("labels"), list(labels)],
            [t("namespaces"), worker.namespaces.length ? list(worker.namespaces) : t("everyNamespace")],
            ...optional([
              [t("host"), worker.host],
              [t("hostGroup"), worker.hostGroup],
              [t("program"), worker.program],
              [t("address"), worker.address],
              [t("connectedBy"), worker.connectedBy ?? ""],
            ]),
            [t("weight"), worker.weight],
            [t("runs"), <Running worker={worker} />],
          ]}
        />
        <div className="one-column">
          <Facts
            facts={[
              [t("languages"), list(can.languages)],
              [t("sandbox"), list(can.sandbox)],
            ]}
          />
        </div>
        <div className="orders">
          <Orders worker={worker} onDone={onDone} />
        </div>
        <h3>{t("recent")}</h3>
        <ChoicesTable worker={worker.id} most={RECENT} ofOne />
      </Card>
    </div>
  );
}

const optional = (facts: readonly (readonly [string, string])[]) => facts.filter(([, value]) => value !== "");
