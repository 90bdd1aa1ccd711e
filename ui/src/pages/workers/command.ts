interface Address {
  readonly protocol: string;
  readonly host: string;
}

/** How a worker of its own comes to this server, to copy; where there is a login, with the token it shows. */
export function connectCommand(place: Address, login: boolean): string {
  const command = `windlass worker --connect ${place.protocol === "https:" ? "wss" : "ws"}://${place.host}`;
  return login ? `WINDLASS_TOKEN=wl_... ${command}` : command;
}
