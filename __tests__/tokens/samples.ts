/**
 * Texts of many kinds, two of each: the weights of the approximate counter were fitted on both, so what it misses here
 * is a lower bound of what it misses elsewhere.
 */
export const samples: Readonly<Record<string, readonly [string, string]>> = {
  english: [
    "The committee met on Thursday to discuss next year's budget. Most members agreed that the library " +
      "needs longer opening hours, but nobody could say where the money would come from. After two hours " +
      "the chair suggested a compromise: open on Sundays during winter, and close earlier in July. It " +
      "wasn't popular, yet it passed by a single vote.",
    "When I first moved here I didn't know anyone, so I started walking along the river every morning. " +
      "Slowly the same faces began to nod back. An old fisherman told me about the flood of 1987, and how " +
      "the whole street had been evacuated by boat. I've kept those walks up ever since; they're the best " +
      "part of my day.",
  ],
  support: [
    "Hi! I'd like to change my flight from New York to Seattle on May 20th. My user id is sara_doe_496 " +
      "and the reservation number is HATHAT. Can I get a refund to my gift card for the difference? I'm a " +
      "gold member and I bought the insurance.",
    "Thank you for waiting. I have checked the booking: the passenger's date of birth cannot be " +
      "modified, but I can add one more checked bag for $50. Would you like to pay with the credit card " +
      "ending in 7447? Please reply yes or no so that I can proceed.",
  ],
  german: [
    "Die Geschwindigkeitsbegrenzung auf der Umgehungsstraße wurde vorübergehend aufgehoben, weil die " +
      "Bauarbeiten früher als erwartet abgeschlossen werden konnten. Anwohnerinnen und Anwohner freuen " +
      "sich, befürchten jedoch, dass der Durchgangsverkehr wieder zunehmen könnte.",
    "Bitte schicken Sie mir die Rechnung für die Wohnungsbesichtigung noch einmal zu. Leider ist der " +
      "Anhang Ihrer gestrigen Nachricht beschädigt, sodass ich ihn nicht öffnen kann. Außerdem möchte ich " +
      "den Übergabetermin um eine Woche verschieben.",
  ],
  french: [
    "Le marché du samedi matin attire des visiteurs de toute la région. On y trouve des légumes frais, " +
      "du fromage de chèvre et, quand la saison s'y prête, des champignons ramassés dans la forêt voisine. " +
      "Les prix ont augmenté, mais personne ne s'en plaint vraiment.",
    "Je vous écris pour signaler que la commande passée la semaine dernière n'est toujours pas arrivée. " +
      "Pourriez-vous vérifier l'adresse de livraison et me dire à quelle date je peux espérer recevoir le " +
      "colis ? Je vous remercie d'avance de votre réponse.",
  ],
  russian: [
    "Вчера вечером мы долго гуляли по набережной и разговаривали о будущем. Погода стояла удивительно " +
      "тёплая для октября, и казалось, что лето решило вернуться. Потом начался дождь, и нам пришлось " +
      "спрятаться в маленьком кафе возле моста.",
    "Пожалуйста, проверьте состояние моего заказа. Деньги были списаны с карты три дня назад, однако " +
      "подтверждение до сих пор не пришло. Если товара нет на складе, я хотел бы получить полный возврат " +
      "средств.",
  ],
  chinese: [
    "昨天下午我去图书馆借了两本书，一本是关于中国古代建筑的，另一本是介绍海洋动物的。管理员告诉我，如果想续借，可以在手机上办理，不用再跑一趟。回家的路上下起了小雨，我在便利店买了一把伞。",
    "您好，我上周在网上订购的耳机一直没有发货，客服电话也打不通。请帮我查询一下订单状态，如果缺货，麻烦直接退款到我的银行卡里。另外，我想知道以后如何修改收货地址。谢谢！",
  ],
  japanese: [
    "先週の日曜日、友達と一緒に京都へ行きました。天気がとても良くて、紅葉もきれいでした。お昼ごはんにはうどんを食べて、そのあと古いお寺をいくつか見て回りました。帰りの電車はとても混んでいて、ずっと立っていました。",
    "お問い合わせありがとうございます。ご注文の商品は現在準備中で、明日の午前中に発送する予定です。お届け先の変更をご希望の場合は、本日中にマイページからお手続きください。ご不明な点がございましたらお知らせください。",
  ],
  korean: [
    "어제 저녁에 가족들과 함께 새로 생긴 식당에 갔습니다. 음식이 생각보다 훨씬 맛있어서 모두 만족했어요. 특히 된장찌개와 생선구이가 인상적이었습니다. 다음 달 아버지 생신 때 다시 가기로 약속했습니다.",
    "안녕하세요. 지난주에 주문한 상품이 아직 도착하지 않아서 문의드립니다. 배송 조회를 해 보니 며칠째 같은 상태로 표시되고 있어요. 언제쯤 받을 수 있을지 확인해 주시면 감사하겠습니다.",
  ],
  arabic: [
    "ذهبنا في الصباح الباكر إلى السوق القديم لشراء الخضروات والفواكه الطازجة. كان المكان مزدحما بالناس، " +
      "لكن الأسعار كانت مناسبة. بعد ذلك جلسنا في مقهى صغير وشربنا الشاي بالنعناع وتحدثنا عن خطط السفر.",
    "أرجو مساعدتي في تغيير موعد الرحلة المحجوزة باسمي. لقد حاولت الاتصال بخدمة العملاء عدة مرات ولم " +
      "يجبني أحد. هل يمكنني استرداد المبلغ كاملا إذا ألغيت الحجز اليوم؟ شكرا لكم على وقتكم.",
  ],
  hindi: [
    "कल शाम को हम सब मिलकर नदी के किनारे घूमने गए थे। मौसम बहुत सुहावना था और बच्चे खूब खेल रहे थे। " +
      "लौटते समय हमने गरम चाय पी और पुराने दिनों की बातें कीं। अगले सप्ताह फिर से जाने का विचार है।",
    "नमस्ते, मैंने पिछले सप्ताह एक मोबाइल फोन मंगवाया था, लेकिन अभी तक वह नहीं पहुँचा है। कृपया मेरे " +
      "ऑर्डर की स्थिति बताइए और यदि देर हो रही हो तो पैसे वापस करने की प्रक्रिया समझाइए। धन्यवाद।",
  ],
  emoji: [
    "Great job team 🎉🎉 we did it!! 🚀 See you tonight 🍕🍻 Don't forget the cake 🎂😋 and the speaker 🎶🔊 Love you all ❤️🥰🙏",
    "omg 😂😂😂 that was so funny 🤣 I can't even 💀 ok ttyl 👋😴 good night 🌙✨ see you tomorrow at the beach " +
      "🏖️☀️🌊 bring snacks 🍉🍪👍🏽",
  ],
  json: [
    '{"reservation_id": "4WQ150", "user_id": "chen_jackson_3290", "origin": "DFW", "destination": "LAX", ' +
      '"flight_type": "round_trip", "cabin": "business", "flights": [{"flight_number": "HAT170", "date": ' +
      '"2024-05-22", "price": 883, "origin": "DFW", "destination": "LAX"}], "passengers": [{"first_name": ' +
      '"Chen", "last_name": "Jackson", "dob": "1956-07-07"}], "insurance": "no"}',
    '{\n  "name": "web-shop",\n  "version": "2.14.3",\n  "enabled": true,\n  "limits": { ' +
      '"requestsPerMinute": 120, "burst": 20 },\n  "regions": ["eu-west-1", "us-east-2"],\n  "owner": { ' +
      '"id": 48213, "email": "ops@example.com", "teams": ["platform", "search"] },\n  "lastDeploy": ' +
      '"2025-11-03T08:41:17Z"\n}',
  ],
  code: [
    "export async function loadUser(id: string): Promise<User | undefined> {\n  const row = await " +
      "db.query('SELECT * FROM users WHERE id = $1', [id]);\n  if (row.length === 0) {\n    return " +
      "undefined;\n  }\n  return { id, name: row[0].name ?? 'unknown', createdAt: new " +
      "Date(row[0].created_at) };\n}\n",
    'def moving_average(values, window=5):\n    """Return the moving average of a list of numbers."""\n  ' +
      "  if window <= 0:\n        raise ValueError('window must be positive')\n    total = 0.0\n    " +
      "result = []\n    for i, value in enumerate(values):\n        total += value\n        if i >= " +
      "window:\n            total -= values[i - window]\n        result.append(total / min(i + 1, " +
      "window))\n    return result\n",
  ],
  base64: [
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4R8Kk0Zx9cPHwQ3Rz7mT2uZbL1eWfYdJ5vKqX0sAG" +
      "6tNp4jHkUoIaVxMhBnCeWwDrlTFyzO3XgS9E8umqVpRkLsGd2itPjHoQfY5BvT0KxNwr7C1cZb",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6Ik1hcmlhIEdvbWV6IiwiaWF0Ijox" +
      "NTE2MjM5MDIyfQSflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5cQk8ZpVt1xHn2mGd0uYb3oLrE7Ij9",
  ],
  urls: [
    "https://www.example.com/products/outdoor/tents?sort=price_asc&page=2&utm_source=newsletter\n" +
      "https://docs.example.org/en/latest/api/client.html#connection-pooling\n" +
      "http://localhost:8080/health\nhttps://github.com/example/project/issues/1482",
    "https://maps.example.com/directions?from=52.5200,13.4050&to=48.1351,11.5820&mode=transit\n" +
      "https://cdn.example.net/assets/img/hero-banner@2x.9f3c1a.webp\n" +
      "https://shop.example.co.uk/checkout/confirm?order=A-20931&lang=en-GB",
  ],
  markdown: [
    "# Release notes\n\n## 3.2.0\n\n- **Search**: results are grouped by folder\n- *Export* to CSV and " +
      "PDF\n- Fixed a crash when opening empty files (#482)\n\n| Plan | Price | Seats |\n| --- | --- | --- " +
      "|\n| Basic | $9 | 1 |\n| Team | $29 | 10 |\n",
    "## Setup\n\n1. Install the package with `npm install`\n2. Copy `.env.example` to `.env`\n3. Run " +
      "`npm start` and open the browser\n\n> **Note:** the first start takes a few minutes.\n\n```bash\n" +
      "curl -s http://localhost:3000/status | jq .\n```\n",
  ],
  digits: [
    "2024-05-16 08:15:00 +1 (555) 010-4477 IBAN 89 3704 0044 0532 0130 00 total 1,284.50 17:42:09 " +
      "192.168.10.254 0.000731 99.97% 4111 1111 1111 1111",
    "3.14159265358979 2,718,281 1600x1200 12/31/1999 23:59:59 10.0.0.1 +49 30 901820 id 8812903344 qty " +
      "12 price 17.99 tax 3.42 sum 219.30",
  ],
};

/** More languages and formats, one text of each, which the weights were adjusted to only where a script was far off. */
export const otherSamples: Readonly<Record<string, string>> = {
  spanish:
    "El tren salió con veinte minutos de retraso y perdimos la conexión en Zaragoza. Menos mal que el " +
    "siguiente autobús tenía plazas libres. Llegamos al hotel de madrugada, cansados pero contentos.",
  polish:
    "Wczoraj po południu poszliśmy do muzeum, żeby obejrzeć nową wystawę fotografii. Niestety kolejka " +
    "była bardzo długa, więc zdecydowaliśmy się wrócić w przyszłym tygodniu.",
  turkish:
    "Dün akşam arkadaşlarımla birlikte deniz kenarında yürüyüşe çıktık. Hava çok güzeldi, sonra küçük " +
    "bir lokantada balık yedik ve eski günlerden konuştuk.",
  vietnamese:
    "Hôm qua chúng tôi đi chợ mua rau và trái cây tươi. Buổi chiều trời mưa to nên cả nhà ở lại quán cà " +
    "phê gần cầu và nói chuyện về chuyến du lịch sắp tới.",
  ukrainian:
    "Учора ввечері ми довго гуляли набережною і розмовляли про майбутнє. Погода була напрочуд тепла для " +
    "жовтня, і здавалося, що літо вирішило повернутися.",
  greek:
    "Χθες το βράδυ περπατήσαμε πολλή ώρα στην παραλία και μιλήσαμε για το μέλλον. Ο καιρός ήταν " +
    "ασυνήθιστα ζεστός για Οκτώβριο.",
  hebrew:
    "אתמול בערב טיילנו לאורך הנהר ודיברנו על העתיד. מזג האוויר היה חם במיוחד לחודש אוקטובר, ואחר כך " +
    "ישבנו בבית קפה קטן.",
  thai: "เมื่อวานตอนเย็นเราไปเดินเล่นริมแม่น้ำและคุยกันเรื่องอนาคต " + "อากาศอบอุ่นมากสำหรับเดือนตุลาคม " + "หลังจากนั้นฝนก็เริ่มตก",
  bengali: "গতকাল সন্ধ্যায় আমরা নদীর ধারে বেড়াতে গিয়েছিলাম। আবহাওয়া খুব সুন্দর ছিল এবং বাচ্চারা অনেক খেলা করছিল।",
  tamil: "நேற்று மாலை நாங்கள் ஆற்றங்கரையில் நடந்து சென்றோம். வானிலை மிகவும் இனிமையாக " + "இருந்தது, குழந்தைகள் " + "விளையாடினார்கள்.",
  georgian: "გუშინ საღამოს ჩვენ მდინარის პირას ვისეირნეთ და მომავალზე ვისაუბრეთ. ამინდი ძალიან თბილი იყო.",
  armenian: "Երեկ երեկոյան մենք երկար զբոսնեցինք գետի ափին և խոսեցինք ապագայի մասին։",
  simplified:
    "这家公司成立于二〇〇五年，主要从事软件开发和数据分析业务。近年来，随着人工智能技术的迅速发展，公司逐步扩大了研发团队，并在多个城市设立了分支机构。",
  traditional:
    "昨天下午我去圖書館借了兩本書，一本是關於中國古代建築的，另一本是介紹海洋動物的。管理員告訴我，如果想續借，可以在手機上辦理。",
  kana: "会社の近くに新しいカフェがオープンしたので、昼休みに同僚と行ってみました。コーヒーの値段は少し高めですが、パンが焼きたてでとてもおいしかったです。また来週も行こうと思います。",
  hangul:
    "회사 근처에 새로운 카페가 문을 열어서 점심시간에 동료와 함께 가 보았습니다. 커피 가격은 조금 비싸지만 빵이 정말 맛있었습니다.",
  travel:
    "Der Zug hatte zwanzig Minuten Verspätung, deshalb haben wir den Anschluss verpasst. Zum Glück gab " +
    "es im nächsten Bus noch freie Plätze, und wir kamen spät in der Nacht im Hotel an.",
  company:
    "Компания была основана в две тысячи пятом году и занимается разработкой программного обеспечения. В " +
    "последние годы она значительно расширила исследовательский отдел.",
  business:
    "تأسست الشركة قبل عشرين عاما وتعمل في مجال تطوير البرمجيات وتحليل البيانات. وفي السنوات الأخيرة توسع " +
    "فريق البحث كثيرا وافتتحت فروعا في عدة مدن.",
  sql:
    "SELECT o.id, o.total, c.name FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE " +
    "o.created_at >= '2025-01-01' AND o.status IN ('paid', 'shipped') ORDER BY o.total DESC LIMIT 50;",
  log:
    "2025-03-14T09:26:53.589Z ERROR [worker-7] Failed to connect to 10.42.0.17:6379: ECONNREFUSED " +
    "(attempt 3/5)\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16)\n" +
    "2025-03-14T09:26:58.601Z INFO  [worker-7] Connected after 5012 ms",
  uuid:
    "550e8400-e29b-41d4-a716-446655440000 6ba7b810-9dad-11d1-80b4-00c04fd430c8 " +
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  html:
    '<div class="card mt-4"><h2 id="title">Welcome back</h2><p>You have <strong>3</strong> new ' +
    'messages.</p><a href="/inbox?filter=unread">Open inbox</a></div>',
};
