export { openTelemetryHandler, type OpenTelemetryHandlerOptions } from "./open-telemetry-handler.js";
