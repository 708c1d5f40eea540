export { allLeastCommands, leastCommands } from "../../src/cli/doctor/least-commands.js";
