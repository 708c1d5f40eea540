import { readFileSync } from "node:fs";
import { join } from "node:path";
import { plants, type Plant } from "../../tools/faults/plants/plants.js";

describe("The planted defects", () => {
  const all = Object.entries<readonly Plant[]>(plants).flatMap(([name, changes]) =>
    changes.map((change) => ({ name, ...change })),
  );

  it.each(all)("find the text that they change exactly once: $name in $file", ({ file, search }) => {
    expect(readFileSync(join(process.cwd(), file), "utf8").split(search)).toHaveLength(2);
  });
});
