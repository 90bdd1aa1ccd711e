import { Link } from "../../components";
import { pathTo } from "../../router";
import type { RunItem } from "./types";

/** The way to the workflow of a run; what a run brought along has no page. */
export function WorkflowName({ run }: { readonly run: Pick<RunItem, "workflow" | "version"> }) {
  if (run.version === 0) return <span className="soft small">{run.workflow}</span>;
  return (
    <Link to={pathTo("/ui/workflows/:workflow", { workflow: run.workflow })} className="soft small">
      {run.workflow}
    </Link>
  );
}
