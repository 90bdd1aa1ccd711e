import { lazy, Suspense, type ReactNode } from "react";
import { Lazy, Link, LiveBadge, Page, ProblemNote, Status, Tabs } from "../../../components";
import { useT, useWords } from "../../../words";
import type { PageProps } from "../..";
import "../page.css";
import Actions from "./Actions";
import { openStep, openTab, TABS, useAwaited, useView, type TabKey } from "./address";
import { useRun } from "./live";
import "./run.css";
import { RunFacts } from "./RunFacts";
import { RunTrouble } from "./RunTrouble";
import { hasEnded, type RunPartProps, type RunView } from "./types";
import Why from "./Why";
import { words } from "./words";

const loadGraph = () => import("./graph/Graph");
const Timeline = lazy(() => import("./timeline/Timeline"));
const Steps = lazy(() => import("./steps/Steps"));
const Logs = lazy(() => import("./Logs"));
const Events = lazy(() => import("./Events"));
const Data = lazy(() => import("./Data"));
const StepPanel = lazy(() => import("./StepPanel"));

export default function RunPage({ parts }: PageProps) {
  const t = useWords(words);
  const id = parts.run ?? "";
  const { run, problem, live, again } = useRun(id);
  useAwaited(run);
  const crumbs = <Link to="/ui/runs">{t("runs")}</Link>;
  if (run === null)
    return (
      <Page title={id} crumbs={crumbs}>
        {problem === null ? (
          <p className="soft">{t("loading")}</p>
        ) : (
          <ProblemNote problem={problem} again={again} />
        )}
      </Page>
    );
  const lead = (
    <span className="run-state">
      <Status value={run.status} />
      {live !== "ended" && <LiveBadge state={live} />}
    </span>
  );
  return (
    <Page title={id} crumbs={crumbs} lead={lead} actions={<Actions run={run} again={again} />}>
      <RunTrouble run={run} />
      {!hasEnded(run.status) && <Why run={run} again={again} />}
      <RunFacts run={run} />
      <Views run={run} again={again} />
    </Page>
  );
}

function Views({ run, again }: RunPartProps) {
  const t = useWords(words);
  const shared = useT();
  const [view] = useView();
  return (
    <div className={view.step ? "run-views with-panel" : "run-views"}>
      <div>
        <Tabs<TabKey>
          label={t("views")}
          tabs={TABS.map((key) => ({ key, label: t(`tab.${key}`) }))}
          chosen={view.tab}
          onChoose={(tab) => openTab(tab)}
        >
          <Suspense fallback={<p className="soft pad">{shared("app.loading")}</p>}>
            {tabOf(view.tab, { run, again })}
          </Suspense>
        </Tabs>
      </div>
      {view.step && (
        <aside className="run-panel card" aria-label={t("panel", { step: view.step })}>
          <Suspense fallback={<p className="soft">{shared("app.loading")}</p>}>
            <StepPanel key={view.step} run={run} step={view.step} onClose={() => closePanel(view.step)} />
          </Suspense>
        </aside>
      )}
    </div>
  );
}

function tabOf(tab: TabKey, props: { run: RunView; again: () => void }): ReactNode {
  switch (tab) {
    case "graph":
      return <Lazy load={loadGraph} props={props} />;
    case "timeline":
      return <Timeline {...props} />;
    case "steps":
      return <Steps {...props} />;
    case "logs":
      return <Logs {...props} />;
    case "events":
      return <Events {...props} />;
    case "data":
      return <Data {...props} />;
  }
}

/** The keyboard goes back to where the panel was opened. */
function closePanel(step: string): void {
  openStep("");
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`[data-step="${CSS.escape(step)}"]`)?.focus({ preventScroll: true }),
  );
}
