import { useSession } from "../../api";
import { namespaceOf, usePlace } from "../../router";
import type { Server } from "./request";

/** This one, for commands to copy. */
export function useServer(): Server {
  const { me } = useSession();
  const { query } = usePlace();
  return { origin: location.origin, login: me?.login ?? false, namespace: namespaceOf(query) };
}
