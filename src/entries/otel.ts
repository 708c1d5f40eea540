export { openTelemetryHandler, type OpenTelemetryHandlerOptions } from "../formats/otel/open-telemetry-handler.js";
