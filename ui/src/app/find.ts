import { at, get } from "../api";
import { pathTo } from "../router";

export const SEARCH_MAX = 200; // characters, as the server takes them

/** Where to go for what somebody typed: the run with exactly this id, or the list of what is like it. */
export async function placeOf(text: string): Promise<string> {
  try {
    await get(at("/runs/:run/events", { run: text }), { query: { limit: 1 } });
    return pathTo("/ui/runs/:run", { run: text });
  } catch {
    // There is none; or the server cannot be asked, which the list says.
    return `/ui/runs?${new URLSearchParams({ search: text }).toString()}`;
  }
}
