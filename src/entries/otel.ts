export { openTelemetryHandler, type OpenTelemetryHandlerOptions } from "../otel/open-telemetry-handler.js";
