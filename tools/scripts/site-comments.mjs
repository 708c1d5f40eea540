// A plugin of TypeDoc: refuses fields without a comment where TypeDoc itself does not look, in the object types that
// parameters have.
import { Application, ReflectionKind } from "typedoc";

export function load(app) {
  app.on(Application.EVENT_VALIDATE_PROJECT, (project) => {
    for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
      for (const field of fieldsIn(parameter.type)) {
        if (!field.hasComment()) {
          app.logger.validationWarning(
            `${parameter.getFullName()}: the field ${field.name} does not have any documentation`,
          );
        }
      }
    }
  });
}

/** The fields that a type names in place, also those of types within it. */
function fieldsIn(type) {
  switch (type?.type) {
    case "reflection":
      return (type.declaration.children ?? []).flatMap((field) => [field, ...fieldsIn(field.type)]);
    case "union":
    case "intersection":
      return type.types.flatMap(fieldsIn);
    case "array":
      return fieldsIn(type.elementType);
    case "typeOperator":
      return fieldsIn(type.target);
    case "reference":
      return (type.typeArguments ?? []).flatMap(fieldsIn);
    default:
      return [];
  }
}
