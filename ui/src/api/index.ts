export { API, address, ask, at, get, post, put, remove, type Query } from "./client";
export { useConnection } from "./connection";
export { useFollowing } from "./hub";
export { follow, useLive, type LiveState } from "./live";
export { asProblem, Problem, type Fault } from "./problem";
export { useMay, useSession, type May, type Right } from "./session";
export type { Message } from "./sse";
export { usePages, type Paged } from "./pages";
export { useAct, useAsk, type Acting, type Asked } from "./use";
