/** How one transaction depends on another: `time` means that it was asked for only after the other's answer. */
export type Dependency = "ww" | "wr" | "rw" | "order" | "time";

/** A dependency of `to` on `from`. */
export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly kind: Dependency;
}

/** A cycle of dependencies, under its name in Adya's phenomena; `-realtime` where it needs the order in time. */
export interface Cycle {
  readonly name: string;
  readonly edges: readonly Edge[];
}

/** Dependencies between transactions that are numbered from 0. */
export class DependencyGraph {
  readonly #out: Edge[][] = [];

  add(from: number, to: number, kind: Dependency): void {
    if (from !== to) {
      this.#edgesOf(from).push({ from, to, kind });
      this.#edgesOf(to);
    }
  }

  /**
   * One cycle for each strongly connected component, under the name of the strongest phenomenon in it: G0 has only
   * write-write edges, G1c also write-read edges, G-single one read-write edge, G2-item several. From Adya, "Weak
   * Consistency: A Generalized Theory and Optimistic Implementations for Distributed Transactions" (MIT, 1999), in the
   * forms of Kingsbury and Alvaro's Elle (VLDB 2020). Linear in the edges where there are no cycles.
   */
  cycles(): Cycle[] {
    const every = () => true;
    return this.#components(this.#out.keys(), every).map((nodes) => this.#named(new Set(nodes)));
  }

  #edgesOf(node: number): Edge[] {
    for (let next = this.#out.length; next <= node; next += 1) {
      this.#out.push([]);
    }
    return this.#out[node]!;
  }

  #named(nodes: ReadonlySet<number>): Cycle {
    for (const time of [false, true]) {
      const suffix = time ? "-realtime" : "";
      const inside = ({ to, kind }: Edge) => nodes.has(to) && (time || kind !== "time");
      const written = (edge: Edge) => inside(edge) && edge.kind !== "rw";
      const found =
        named(
          `G0${suffix}`,
          this.#cycleIn(nodes, (edge) => written(edge) && edge.kind !== "wr"),
        ) ??
        named(`G1c${suffix}`, this.#cycleIn(nodes, written)) ??
        named(`G-single${suffix}`, this.#singleIn(nodes, written)) ??
        named(`G2-item${suffix}`, this.#cycleIn(nodes, inside));
      if (found !== undefined) {
        return found;
      }
    }
    throw new Error("a strongly connected component without a cycle");
  }

  #cycleIn(nodes: Iterable<number>, follows: (edge: Edge) => boolean): Edge[] | undefined {
    const [component] = this.#components(nodes, follows);
    return component && this.#path(component[0]!, component[0]!, follows);
  }

  /** A cycle with exactly one read-write edge. Looks at a bounded number of them: a defect makes thousands. */
  #singleIn(nodes: ReadonlySet<number>, follows: (edge: Edge) => boolean): Edge[] | undefined {
    const edges = [...nodes].flatMap((node) =>
      this.#out[node]!.filter(({ to, kind }) => kind === "rw" && nodes.has(to)),
    );
    for (const edge of edges.slice(0, mostSingles)) {
      const back = this.#path(edge.to, edge.from, follows);
      if (back !== undefined) {
        return [edge, ...back];
      }
    }
    return undefined;
  }

  /** The shortest path, of one edge at least. */
  #path(from: number, to: number, follows: (edge: Edge) => boolean): Edge[] | undefined {
    const cameBy = new Map<number, Edge>();
    const queue = [from];
    for (let at = 0; at < queue.length && !cameBy.has(to); at += 1) {
      for (const edge of this.#out[queue[at]!]!.filter(follows)) {
        if (!cameBy.has(edge.to)) {
          cameBy.set(edge.to, edge);
          queue.push(edge.to);
        }
      }
    }
    const path: Edge[] = [];
    for (let edge = cameBy.get(to); edge !== undefined; edge = edge.from === from ? undefined : cameBy.get(edge.from)) {
      path.unshift(edge);
    }
    return path.length === 0 ? undefined : path;
  }

  /** Strongly connected components of two nodes or more, by Tarjan (SIAM J. Computing, 1972), without recursion. */
  #components(roots: Iterable<number>, follows: (edge: Edge) => boolean): number[][] {
    const index = new Map<number, number>();
    const low = new Map<number, number>();
    const open: number[] = [];
    const isOpen = new Set<number>();
    const found: number[][] = [];
    const enter = (node: number) => {
      index.set(node, index.size);
      low.set(node, index.size - 1);
      open.push(node);
      isOpen.add(node);
      return { node, edges: this.#out[node]!.filter(follows), next: 0 };
    };
    for (const root of roots) {
      const work = index.has(root) ? [] : [enter(root)];
      while (work.length > 0) {
        const frame = work.at(-1)!;
        const edge = frame.edges[frame.next];
        frame.next += 1;
        if (edge === undefined) {
          work.pop();
          const parent = work.at(-1)?.node;
          if (parent !== undefined) {
            low.set(parent, Math.min(low.get(parent)!, low.get(frame.node)!));
          }
          if (low.get(frame.node) === index.get(frame.node)) {
            const nodes = open.splice(open.lastIndexOf(frame.node));
            nodes.forEach((node) => isOpen.delete(node));
            found.push(...(nodes.length > 1 ? [nodes] : []));
          }
        } else if (!index.has(edge.to)) {
          work.push(enter(edge.to));
        } else if (isOpen.has(edge.to)) {
          low.set(frame.node, Math.min(low.get(frame.node)!, index.get(edge.to)!));
        }
      }
    }
    return found;
  }
}

const mostSingles = 200;

function named(name: string, edges: readonly Edge[] | undefined): Cycle | undefined {
  return edges && { name, edges };
}
