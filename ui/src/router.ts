import { useCallback, useMemo } from "react";
import { Store, useStore } from "./store";

/** The overview, as the server shows it there; all other pages live under /ui/. */
export const OVERVIEW = "/";

export interface Place {
  readonly path: string;
  readonly query: string; // with its question mark, or empty
}

const place = new Store<Place>(here());

function here(): Place {
  return { path: location.pathname, query: location.search };
}

window.addEventListener("popstate", () => place.set(here()));

export function usePlace(): Place {
  return useStore(place);
}

export function currentPlace(): Place {
  return place.get();
}

/** Go to a page of ours. The namespace goes along unless the address names one. */
export function navigate(to: string, options: { replace?: boolean; keepScroll?: boolean } = {}): void {
  const target = withNamespace(to);
  if (options.replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  const before = place.get().path;
  place.set(here());
  if (!options.keepScroll && before !== place.get().path) {
    window.scrollTo(0, 0);
    arrived = true;
  }
}

let arrived = false;

/** Whether this page was come to from another one; says so once. Its heading is focused then. */
export function takeArrival(): boolean {
  const was = arrived;
  arrived = false;
  return was;
}

/** The namespace that the address names; null: the one that the token is of, or `default`. */
export function namespaceOf(query: string): string | null {
  return new URLSearchParams(query).get("namespace");
}

export function withNamespace(to: string): string {
  const [rest = "", hash] = to.split("#", 2);
  const [path = "", query = ""] = rest.split("?", 2);
  const parameters = new URLSearchParams(query);
  const namespace = namespaceOf(location.search);
  if (namespace !== null && !parameters.has("namespace")) parameters.set("namespace", namespace);
  if (parameters.get("namespace") === "") parameters.delete("namespace");
  const text = parameters.toString();
  return path + (text ? `?${text}` : "") + (hash ? `#${hash}` : "");
}

/** The parts that a pattern such as `/ui/runs/:run` names, or null if the path is another. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const found = path.replace(/(.)\/$/, "$1").split("/");
  if (wanted.length !== found.length) return null;
  const parts: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    const got = found[index] ?? "";
    if (want.startsWith(":")) {
      if (!got) return null;
      try {
        parts[want.slice(1)] = decodeURIComponent(got);
      } catch {
        return null;
      }
    } else if (want !== got) return null;
  }
  return parts;
}

/** `/ui/runs/:run` with its parts filled in, each escaped. */
export function pathTo(pattern: string, parts: Record<string, string> = {}): string {
  return pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parts[name] ?? ""));
}

/** How a value is written in the address. `read` gets null where it is not there. */
export interface Param<T> {
  read(text: string | null): T;
  write(value: T): string | null;
}

export const text = (usual = ""): Param<string> => ({
  read: (given) => given ?? usual,
  write: (value) => (value === usual ? null : value),
});
export const choice = <T extends string>(known: readonly T[], usual: T): Param<T> => ({
  read: (given) => known.find((each) => each === given) ?? usual,
  write: (value) => (value === usual ? null : value),
});
export const flag = (): Param<boolean> => ({
  read: (given) => given === "true",
  write: (value) => (value ? "true" : null),
});
export const whole = (usual: number): Param<number> => ({
  read: (given) => (given !== null && /^\d{1,15}$/.test(given) ? Number(given) : usual),
  write: (value) => (value === usual ? null : String(value)),
});
export const list = (): Param<readonly string[]> => ({
  read: (given) => (given ? given.split(",") : []),
  write: (value) => (value.length ? value.join(",") : null),
});

type Values<S> = { [K in keyof S]: S[K] extends Param<infer T> ? T : never };

/**
 * The filters of a page, kept in the address: `const [filter, setFilter] = useFilters(FILTERS)` with
 * `const FILTERS = { status: choice(STATUSES, "all"), search: text() }` outside of the component.
 */
export function useFilters<S extends Record<string, Param<unknown>>>(
  shape: S,
): [Values<S>, (change: Partial<Values<S>>) => void] {
  const { query } = usePlace();
  const values = useMemo(() => readFilters(shape, query), [shape, query]);
  const change = useCallback(
    (changed: Partial<Values<S>>) => {
      const now = place.get();
      const next = writeFilters(shape, now.query, changed);
      if (next !== now.query) navigate(now.path + next, { replace: true, keepScroll: true });
    },
    [shape],
  );
  return [values, change];
}

export function readFilters<S extends Record<string, Param<unknown>>>(shape: S, query: string): Values<S> {
  const parameters = new URLSearchParams(query);
  const values: Partial<Record<keyof S, unknown>> = {};
  for (const name of Object.keys(shape) as (keyof S & string)[])
    values[name] = shape[name]?.read(parameters.get(name));
  return values as Values<S>;
}

export function writeFilters<S extends Record<string, Param<unknown>>>(
  shape: S,
  query: string,
  changed: Partial<Values<S>>,
): string {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changed)) {
    const written = shape[name]?.write(value) ?? null;
    if (written === null) parameters.delete(name);
    else parameters.set(name, written);
  }
  const text = parameters.toString();
  return text ? `?${text}` : "";
}
