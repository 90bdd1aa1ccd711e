import { ROLES, type TokenRole } from "./types";

export interface TokenWish {
  readonly role: TokenRole;
  readonly namespace: string;
  readonly name: string;
  readonly expires: string; // empty: never
}

/** The body of `POST /tokens`: an admin's is always of all namespaces, so it names none. */
export function tokenBody(wish: TokenWish): Record<string, string> {
  const body: Record<string, string> = { role: wish.role };
  if (wish.role !== "admin" && wish.namespace.trim()) body["namespace"] = wish.namespace.trim();
  if (wish.name.trim()) body["name"] = wish.name.trim();
  if (wish.expires.trim()) body["expires"] = wish.expires.trim();
  return body;
}

/** What a role may, and those below it too: for the table. */
export const DEEDS = ["see", "start", "operate", "administer"] as const;
export type Deed = (typeof DEEDS)[number];
const REACH: Readonly<Record<string, number>> = { read: 1, submit: 2, operator: 3, admin: 4 };

export const mayDo = (role: string, deed: Deed): boolean => DEEDS.indexOf(deed) < (REACH[role] ?? 0);

/** How an outcome of the audit log is shown: 2xx went well, 4xx was refused, others went wrong. */
export function outcomeTone(outcome: number): "succeeded" | "cancelled" | "failed" {
  if (outcome < 400) return "succeeded";
  return outcome < 500 ? "cancelled" : "failed";
}

/** The key of the words for a role; null: it has none. */
export function roleWords(role: string | null): `role.${TokenRole}` | null {
  const known = ROLES.find((each) => each === role);
  return known === undefined ? null : `role.${known}`;
}
