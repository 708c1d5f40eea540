/** Tools of an agent that books flights, as the recorded conversations call them; in OpenAI's form. */
export interface AgentTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

type Fields = Readonly<Record<string, object>>;

const text = (description: string) => ({ type: "string", description });
const amount = (description: string) => ({ type: "number", description });
const list = (description: string, fields: Fields) => ({ type: "array", description, items: objectOf(fields) });

function objectOf(properties: Fields) {
  return { type: "object", properties, required: Object.keys(properties) };
}

function tool(name: string, description: string, fields: Fields = {}): AgentTool {
  return { type: "function", function: { name, description, parameters: objectOf(fields) } };
}

const user = text("The id of the user, such as 'sara_doe_496'.");
const reservation = text("The id of the reservation, six characters such as '8JX2WO'.");
const payment = text("The id of a payment method of the user's profile, such as 'credit_card_7815826'.");
const cabin = { ...text("The cabin of all flights."), enum: ["basic_economy", "economy", "business"] };
const origin = text("The airport where the journey begins, three letters such as 'PHX'.");
const destination = text("The airport where the journey ends, three letters such as 'SEA'.");
const date = text("The day of the flight, in the form YYYY-MM-DD.");
const total = amount("How many bags there are in all.");
const paid = amount("How many of the bags are not free and have to be paid for.");
const flights = list("All flights of the reservation, also those that stay as they are.", {
  flight_number: text("The number of the flight, such as 'HAT001'."),
  date,
});
const passengers = list("All passengers of the reservation.", {
  first_name: text("The first name of the passenger."),
  last_name: text("The last name of the passenger."),
  dob: text("The date of birth, in the form YYYY-MM-DD."),
});
const payments = list("How the price is paid; the amounts add up to it.", {
  payment_id: payment,
  amount: amount("The part that this method pays."),
});

/** Fourteen tools, some 1,500 tokens. */
export const airlineTools: readonly AgentTool[] = [
  tool("book_reservation", "Books flights for a user and takes the payment. Ask the user for consent before.", {
    ...{ user_id: user, origin, destination },
    flight_type: { ...text("Whether the journey goes back."), enum: ["one_way", "round_trip"] },
    ...{ cabin, flights, passengers, payment_methods: payments, total_baggages: total, nonfree_baggages: paid },
    insurance: { ...text("Whether the journey is insured."), enum: ["yes", "no"] },
  }),
  tool("calculate", "Computes an arithmetic expression.", {
    expression: text("The expression: numbers, the signs + - * /, brackets and spaces, such as '2 + 2'."),
  }),
  tool("cancel_reservation", "Cancels a whole reservation and refunds it.", { reservation_id: reservation }),
  tool("get_reservation_details", "Looks up a reservation with its flights, passengers and payments.", {
    reservation_id: reservation,
  }),
  tool("get_user_details", "Looks up a user with profile, payment methods and reservations.", { user_id: user }),
  tool("list_all_airports", "Lists all airports with their cities."),
  tool("search_direct_flight", "Searches flights without a stop between two cities on a day.", {
    ...{ origin, destination, date },
  }),
  tool("search_onestop_flight", "Searches flights with one stop between two cities on a day.", {
    ...{ origin, destination, date },
  }),
  tool("send_certificate", "Sends a user a certificate by which a later journey is paid. Use it with care.", {
    ...{ user_id: user, amount: amount("The value of the certificate, in dollars.") },
  }),
  tool("think", "Notes a thought. It changes nothing and looks nothing up; use it where a decision is complex.", {
    thought: text("The thought."),
  }),
  tool("transfer_to_human_agents", "Hands the user over to a human, with a summary of what the user wants.", {
    summary: text("What the user wants, and why no tool can do it."),
  }),
  tool("update_reservation_baggages", "Changes the number of bags of a reservation.", {
    ...{ reservation_id: reservation, total_baggages: total, nonfree_baggages: paid, payment_id: payment },
  }),
  tool("update_reservation_flights", "Changes flights or the cabin of a reservation, and takes or returns money.", {
    ...{ reservation_id: reservation, cabin, flights, payment_id: payment },
  }),
  tool("update_reservation_passengers", "Changes names and dates of birth of the passengers of a reservation.", {
    ...{ reservation_id: reservation, passengers },
  }),
];
