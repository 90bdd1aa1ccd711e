import { at, useAsk, useMay } from "../../../api";
import { Card, Duration, Facts, Page, ProblemNote, Table, Time } from "../../../components";
import { useT, useWords } from "../../../words";
import { percentOf } from "../../sizes";
import "../../fleet.css";
import "../page.css";
import { SubNav } from "../SubNav";
import { words } from "../words";
import { Change } from "./Change";
import { ChoicesCard } from "./ChoicesCard";
import type { Assignment } from "./types";

export default function StrategyPage() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("see", true);
  const asked = useAsk<Assignment>(may.ok ? at("/assignment") : null, { live: true });
  const now = asked.data;
  return (
    <Page title={t("strategyTitle")} lead={t("strategyLead")}>
      <SubNav here="strategy" />
      {!may.ok && <p className="note warn">{may.reason}</p>}
      <ProblemNote problem={asked.problem} again={asked.again} />
      {now === null && asked.loading && <p className="soft">{shared("app.loading")}</p>}
      {now && (
        <>
          <Card title={t("current")}>
            <Facts
              facts={[
                [t("currentIs"), <strong>{now.strategy}</strong>],
                [t("configured"), now.configured],
                [t("setBy"), now.setBy ?? "–"],
                [t("setAt"), <Time at={now.setAt} />],
                [t("loadMade"), t("loadOf", { ...now.weights })],
              ]}
            />
          </Card>
          <div className="grid half">
            <Change now={now} onChanged={asked.again} />
            <Card title={t("rules")}>
              <Facts
                facts={[
                  [t("rule.failures"), percentOf(now.adaptive.failuresMax)],
                  [t("rule.cpu"), percentOf(now.adaptive.cpuMax)],
                  [t("rule.trip"), <Duration seconds={now.adaptive.tripMaxSeconds} />],
                  [t("rule.else"), t("rule.elseIs")],
                  [t("rule.hold"), <Duration seconds={now.adaptive.holdSeconds} />],
                ]}
              />
              <h3>{t("switches")}</h3>
              <Table
                label={t("switches")}
                rows={[...now.switches].reverse()}
                rowKey={(each) => `${each.at} ${each.why}`}
                empty={<p className="soft">{t("noSwitches")}</p>}
                columns={[
                  {
                    key: "at",
                    head: t("at"),
                    cell: (each) => (
                      <span className="keep">
                        <Time at={each.at} style="ago" />
                      </span>
                    ),
                  },
                  {
                    key: "to",
                    head: t("after"),
                    cell: (each) => `${each.before} → ${each.after}`,
                  },
                  { key: "why", head: t("why"), grow: true, cell: (each) => each.why },
                ]}
              />
            </Card>
          </div>
        </>
      )}
      <ChoicesCard />
    </Page>
  );
}
