export { allLeastCommands, leastCommands, partCommands } from "../../cli/doctor/least-commands.js";
