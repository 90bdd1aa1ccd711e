import { pathTo } from "../../router";

/** The page of a run, in its namespace. */
export const runPath = (run: string, namespace: string): string =>
  `${pathTo("/ui/runs/:run", { run })}?namespace=${namespace === "default" ? "" : encodeURIComponent(namespace)}`;

export const workerPath = (worker: string): string => `/ui/workers?worker=${encodeURIComponent(worker)}`;
