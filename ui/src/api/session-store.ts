import { Store } from "../store";

export type Role = "admin" | "operator" | "submit" | "read" | "worker" | "node";

export interface Whoami {
  readonly login: boolean; // whether this server wants one
  readonly who: string | null;
  readonly role: Role | null;
  readonly namespace: string | null; // that it may speak of; `*`: all
}

export interface Session {
  readonly state: "unknown" | "out" | "in";
  readonly me: Whoami | null;
  readonly refused?: boolean; // out, because what the browser showed is not valid any more
}

export const session = new Store<Session>({ state: "unknown", me: null });

/** The login page is next; `refused`: nobody asked for it. */
export function signedOut(refused = false): void {
  session.set({ state: "out", me: null, refused });
}
