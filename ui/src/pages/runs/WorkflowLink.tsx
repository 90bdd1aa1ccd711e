import { Link } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { RunItem } from "./run/types";
import { words } from "./words";

/** The workflow of a run, in the version that it runs. */
export function WorkflowLink({ run }: { readonly run: Pick<RunItem, "workflow" | "version"> }) {
  const t = useWords(words);
  if (run.version === 0)
    return (
      <span className="workflow-name">
        {run.workflow} <span className="workflow-own soft small">{t("own")}</span>
      </span>
    );
  return (
    <span className="workflow-name">
      <Link to={`${pathTo("/ui/workflows/:workflow", { workflow: run.workflow })}?version=${run.version}`}>
        {run.workflow}
      </Link>{" "}
      <span className="soft">v{run.version}</span>
    </span>
  );
}
