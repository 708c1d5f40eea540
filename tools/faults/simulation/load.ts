import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildWithPlant } from "../client/build-client.js";
import type { Plant, PlantName } from "../plants/plants.js";
import type { Programs } from "./stage.js";

const entry = join(import.meta.dirname, "program.ts");

/** Random bytes that are drawn ahead would come from the world before. */
const drawnAhead: readonly Plant[] = [
  { file: "src/base/ids.ts", search: "Buffer.alloc(tokenBytes * 128)", replacement: "Buffer.alloc(tokenBytes)" },
  {
    file: "src/store/sealed/keys/session-key.ts",
    search: "const poolNonces = 256;",
    replacement: "const poolNonces = 1;",
  },
];

let copies = 0;
let sound: Program | undefined;

/**
 * Loads a copy of the program for each of three processes, with a defect where one is asked for, and a sound reader.
 * They share the installed packages.
 */
export async function loadPrograms(plant: PlantName | undefined): Promise<Programs> {
  sound ??= (await load(undefined, 1))[0]!;
  return { processes: await load(plant, 3), reader: sound };
}

type Program = typeof import("./program.js");

async function load(plant: PlantName | undefined, count: number): Promise<Program[]> {
  const path = await buildWithPlant(entry, { name: "simulated", plant, more: drawnAhead, packages: "external" });
  try {
    const loaded: Program[] = [];
    for (let copy = 0; copy < count; copy += 1) {
      copies += 1;
      const program = (await import(`${pathToFileURL(path).href}?${copies}`)) as Program;
      await program.warmUp();
      loaded.push(program);
    }
    return loaded;
  } finally {
    rmSync(path);
  }
}
