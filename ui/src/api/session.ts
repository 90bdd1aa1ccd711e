import { useMemo } from "react";
import { useStore } from "../store";
import { useT } from "../words";
import { API, get, post } from "./client";
import { FOR_PROGRAMS, Problem } from "./problem";
import { session, signedOut, type Role, type Session, type Whoami } from "./session-store";

export type Right = "see" | "start" | "operate" | "administer";

// As core/roles.py has it; the server decides, this only keeps people from pressing in vain.
const RIGHTS: Readonly<Record<Role, readonly Right[]>> = {
  admin: ["see", "start", "operate", "administer"],
  operator: ["see", "start", "operate"],
  submit: ["see", "start"],
  read: ["see"],
  worker: [],
  node: [],
};
const LEAST: Readonly<Record<Right, Role>> = {
  see: "read",
  start: "submit",
  operate: "operator",
  administer: "admin",
};

export async function lookWhoIAm(): Promise<void> {
  enter(await get<Whoami>(`${API}/whoami`, { namespace: null }));
}

export async function signIn(token: string): Promise<void> {
  const me = await post<Whoami>(`${API}/login`, { token }, { namespace: null });
  if (mayNothing(me)) {
    await signOut();
    throw new Problem(403, FOR_PROGRAMS, "");
  }
  enter(me);
}

export async function signOut(): Promise<void> {
  try {
    await post<Whoami>(`${API}/logout`, undefined, { namespace: null });
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) throw error; // 401: it was over before
  }
  signedOut();
}

function enter(me: Whoami): void {
  session.set(me.login && mayNothing(me) ? { state: "out", me: null } : { state: "in", me });
}

/** Nobody yet, or a token for workers and nodes: no page would show anything. */
const mayNothing = (me: Whoami): boolean => me.role === null || RIGHTS[me.role].length === 0;

export const useSession = (): Session => useStore(session);

export interface May {
  readonly ok: boolean;
  readonly reason: string; // why not, for people; empty if it may
}

/** Whether the one who is logged in may do it. `everywhere`: it is about all namespaces at once. */
export function useMay(right: Right | undefined, everywhere = false): May {
  const t = useT();
  const { me } = useSession();
  return useMemo(() => {
    if (right === undefined || me === null || me.role === null) return { ok: true, reason: "" };
    if (!RIGHTS[me.role].includes(right))
      return { ok: false, reason: t("may.role", { role: LEAST[right], mine: me.role }) };
    if ((everywhere || right === "administer") && me.namespace !== "*")
      return { ok: false, reason: t("may.everywhere") };
    return { ok: true, reason: "" };
  }, [right, everywhere, me, t]);
}
