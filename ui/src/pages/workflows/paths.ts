import { pathTo } from "../../router";

export const NEW_WORKFLOW = "/ui/new-workflow";

export type TabKey = "graph" | "start" | "runs" | "schedule" | "versions" | "edit";
export const TABS: readonly TabKey[] = ["graph", "start", "runs", "schedule", "versions", "edit"];

export function toWorkflow(workflow: string, tab: TabKey = "graph"): string {
  const path = pathTo("/ui/workflows/:workflow", { workflow });
  return tab === "graph" ? path : `${path}?tab=${tab}`;
}

export function toRun(run: string): string {
  return pathTo("/ui/runs/:run", { run });
}
