import type { Load } from "../components/Lazy";
import { match, OVERVIEW } from "../router";

export type Section = "overview" | "workflows" | "runs" | "tasks" | "workers" | "cluster" | "settings";

export interface PageProps {
  readonly parts: Readonly<Record<string, string>>; // of the path: `/ui/runs/:run` gives `run`
}

export interface PageEntry {
  readonly path: string;
  readonly section: Section; // which line of the navigation it belongs to
  readonly load: Load<PageProps>;
}

/** All pages; the first path that fits is shown. Each is a chunk of its own. */
export const PAGES: readonly PageEntry[] = [
  { path: OVERVIEW, section: "overview", load: () => import("./overview") },
  { path: "/ui/workflows", section: "workflows", load: () => import("./workflows") },
  { path: "/ui/workflows/:workflow", section: "workflows", load: () => import("./workflows/one") },
  { path: "/ui/new-workflow", section: "workflows", load: () => import("./workflows/new") },
  { path: "/ui/runs", section: "runs", load: () => import("./runs") },
  { path: "/ui/runs/:run", section: "runs", load: () => import("./runs/run") },
  { path: "/ui/tasks", section: "tasks", load: () => import("./tasks") },
  { path: "/ui/tasks/:task", section: "tasks", load: () => import("./tasks/task") },
  { path: "/ui/workers", section: "workers", load: () => import("./workers") },
  { path: "/ui/workers/strategy", section: "workers", load: () => import("./workers/strategy") },
  { path: "/ui/cluster", section: "cluster", load: () => import("./cluster") },
  { path: "/ui/settings", section: "settings", load: () => import("./settings") },
];

const SECTIONS: readonly Section[] = [
  "overview",
  "workflows",
  "runs",
  "tasks",
  "workers",
  "cluster",
  "settings",
];

/** What the navigation shows: the first page of each section. */
export const NAV: readonly PageEntry[] = SECTIONS.flatMap(
  (section) => PAGES.find((page) => page.section === section) ?? [],
);

export function find(path: string): { page: PageEntry; parts: Record<string, string> } | null {
  const wanted = path === "/ui" || path === "/ui/" ? OVERVIEW : path;
  for (const page of PAGES) {
    const parts = match(page.path, wanted);
    if (parts !== null) return { page, parts };
  }
  return null;
}
