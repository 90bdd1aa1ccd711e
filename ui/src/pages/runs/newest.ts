import { at, usePages, type Paged, type Query } from "../../api";
import type { RunItem } from "./run/types";

/** Runs, the newest first; `query` null: nothing is asked. */
export function useNewest(query: Query | null): Paged<RunItem> {
  return usePages<RunItem>(query === null ? null : at("/runs"), { query: query ?? {}, live: true });
}
