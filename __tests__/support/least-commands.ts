export { allLeastCommands, leastCommands } from "../../cli/doctor/least-commands.js";
