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
}

export const session = new Store<Session>({ state: "unknown", me: null });

/** The server refuses what we show: the login page is next. */
export function signedOut(): void {
  session.set({ state: "out", me: null });
}
