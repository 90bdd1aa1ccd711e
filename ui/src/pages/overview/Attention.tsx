import { useAsk, at } from "../../api";
import { Card, Link } from "../../components";
import { useWords } from "../../words";
import { RunRows } from "./RunRows";
import { Waiting } from "./Waiting";
import type { OverviewView, RunItem } from "./types";
import { Unserved } from "./Unserved";
import { words } from "./words";

const HOUR_MS = 3_600_000;

/** What waits for somebody or in vain, what is stuck, what failed lately, and what has been open for long. */
export function Attention({ view }: { view: OverviewView }) {
  const t = useWords(words);
  // Whole minutes: the same question for as long as it means the same.
  const before = new Date(Math.floor(Date.parse(view.asOf) / 60_000) * 60_000 - HOUR_MS).toISOString();
  const long = useAsk<{ items: readonly RunItem[] }>(at("/runs"), {
    query: { status: "running", startedBefore: before, limit: 5 },
    live: true,
  });
  const old = long.data?.items ?? [];
  const calm = view.unserved.length === 0 && view.stuck.length === 0 && view.failed.length === 0;
  return (
    <>
      <Waiting runs={view.waiting} />
      {view.unserved.length > 0 && <Unserved rows={view.unserved} />}
      {calm && (
        <Card title={t("attention")}>
          <p className="soft">{t("nothing")}</p>
        </Card>
      )}
      {view.stuck.length > 0 && (
        <Card title={t("stuck")} actions={<Link to="/ui/runs?status=stuck">{t("all")}</Link>}>
          <p className="soft small">{t("stuckMore")}</p>
          <RunRows label={t("stuck")} runs={view.stuck} shows="started" />
        </Card>
      )}
      {view.failed.length > 0 && (
        <Card title={t("failed")} actions={<Link to="/ui/runs?status=failed">{t("all")}</Link>}>
          <RunRows label={t("failed")} runs={view.failed} shows="ended" />
        </Card>
      )}
      {old.length > 0 && (
        <Card title={t("long")} actions={<Link to="/ui/runs?status=running">{t("all")}</Link>}>
          <p className="soft small">{t("longMore")}</p>
          <RunRows label={t("long")} runs={old} shows="age" />
        </Card>
      )}
    </>
  );
}
