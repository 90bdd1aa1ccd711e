export const ROLES = ["read", "submit", "operator", "admin", "worker"] as const;
export type TokenRole = (typeof ROLES)[number];

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly namespace: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly usedAt: string | null;
  readonly state: "valid" | "expired" | "revoked";
}

export interface Secret {
  readonly name: string;
  readonly version: number;
  readonly key: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
}

export interface Rotated {
  readonly resealed: number;
  readonly key: string;
  readonly locked: readonly string[];
}

export const WHATS = ["failed", "stuck", "recovered"] as const;
export type What = (typeof WHATS)[number];

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly on: readonly What[];
  readonly workflow: string | null;
  readonly createdAt: string;
  readonly createdBy: string;
}

export interface WebhookTested {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
  readonly tookSeconds: number;
}

export const CHECKS = ["secret", "standard", "github", "stripe"] as const;

export interface Hook {
  readonly name: string;
  readonly path: string;
  readonly action: "start" | "signal";
  readonly workflow: string | null;
  readonly signal: string | null;
  readonly check: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
}

export interface AuditLine {
  readonly n: number;
  readonly at: string;
  readonly who: string;
  readonly role: string;
  readonly namespace: string;
  readonly act: string;
  readonly thing: string;
  readonly address: string;
  readonly outcome: number;
  readonly detail: string;
  readonly requestId: string;
}
