import { at, useAsk, useFollowing } from "../../api";
import { formatDuration, Link, LiveBadge, Page, ProblemNote } from "../../components";
import { useLanguage, useT, useWords } from "../../words";
import { NoRuns } from "../runs/NoRuns";
import { Attention } from "./Attention";
import { isNew } from "./figures";
import { Fleet } from "./Fleet";
import { Latest } from "./Latest";
import "./page.css";
import { Tiles } from "./Tiles";
import type { OverviewView } from "./types";
import { words } from "./words";

export default function Overview() {
  const t = useWords(words);
  const shared = useT();
  const language = useLanguage();
  const following = useFollowing();
  const { data: view, problem, again } = useAsk<OverviewView>(at("/overview"), { live: true });
  return (
    <Page title={shared("nav.overview")} actions={view && <LiveBadge state={following} />}>
      <ProblemNote problem={problem} again={again} />
      {view === null ? (
        !problem && <p className="soft">{shared("app.loading")}</p>
      ) : (
        <>
          {isNew(view) && (
            <NoRuns title={t("empty")}>
              <Link to="/ui/new-workflow">{t("newWorkflow")}</Link>
            </NoRuns>
          )}
          <Tiles view={view} duration={(seconds) => formatDuration(seconds, language)} />
          <Attention view={view} />
          <Latest />
          <Fleet view={view} />
        </>
      )}
    </Page>
  );
}
