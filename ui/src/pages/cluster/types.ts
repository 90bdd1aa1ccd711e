export interface NodeLoad {
  readonly cpu: number;
  readonly memory: number;
  readonly memoryBytes: number;
  readonly live: number;
  readonly inbox: number;
  readonly slots: number;
  readonly free: number;
  readonly overloaded: boolean; // it is given no more shards
  readonly short: boolean; // it starts no new runs
}

export type NodeState = "up" | "leaving" | "dead";

export interface ClusterNode {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly state: NodeState;
  readonly roles: readonly string[];
  readonly shards: number;
  readonly entities: number;
  readonly load: NodeLoad;
  readonly startedAt: string | null;
  readonly beatAgeSeconds: number | null;
  readonly version: string;
  readonly self: boolean;
}

export interface ClusterNodes {
  readonly nodes: readonly ClusterNode[];
  readonly asOf: string;
}

export interface Shard {
  readonly shardId: string;
  readonly location: string | null; // the address of its owner
  readonly entityCount: number;
  readonly epoch: number;
  readonly movingTo: string | null; // the name of a node
  readonly movedAt: string | null; // when it last changed hands
  readonly movedFrom: string | null; // the name of the node that had it before
}

export interface ClusterShards {
  readonly totalShards: number;
  readonly activeShards: number;
  readonly shards: readonly Shard[];
  readonly asOf: string;
}

export interface ShardDetail extends Shard {
  readonly entities: readonly string[]; // the first of them, as kind/namespace/id
}

export const EVENT_TYPES = ["failover", "rebalance", "migration", "member"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface ClusterEvent {
  readonly number: number;
  readonly type: EventType;
  readonly at: string;
  readonly startedAt: string | null;
  readonly reason: string;
  readonly node: string | null;
  readonly source: string | null;
  readonly target: string | null;
  readonly shard: number | null;
  readonly status: string | null;
  readonly entities: number;
  readonly listed: readonly string[];
  readonly downtimeSeconds: number | null;
}

export interface ClusterEvents {
  readonly events: readonly ClusterEvent[];
  readonly next: number | null;
}

export interface Spreading {
  readonly count: number;
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface NodeFigures {
  readonly node: string;
  readonly leaseFresh: boolean;
  readonly journalWritable: boolean;
  readonly journalTrouble: string | null;
  readonly commits: {
    readonly count: number;
    readonly rows: number;
    readonly refused: number;
    readonly unknown: number;
    readonly seconds: Spreading;
  };
  readonly events: number;
  readonly snapshots: number;
  readonly entitiesLive: number;
  readonly inbox: number;
  readonly timers: number;
  readonly runsStarted: number;
  readonly runsEnded: number;
  readonly runsRecovered: number;
  readonly entityRestarts: number;
  readonly tasksWaiting: number;
  readonly tasksRunning: number;
  readonly tasksLost: number;
  readonly routing: Spreading;
  readonly asOf: string;
}

export interface ClusterFigures {
  readonly items: readonly NodeFigures[]; // by name
  readonly silent: readonly string[]; // nodes that did not tell theirs
  readonly asOf: string;
}
