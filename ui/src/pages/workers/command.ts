/** How a worker of its own comes to this server, to copy. */
export function connectCommand(place: { readonly protocol: string; readonly host: string }): string {
  return `windlass worker --connect ${place.protocol === "https:" ? "wss" : "ws"}://${place.host}`;
}
