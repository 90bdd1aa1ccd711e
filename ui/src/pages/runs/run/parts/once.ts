/** A key that makes a request safe to repeat: one for each time that somebody is asked. */
export function onceKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is only there with TLS
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
