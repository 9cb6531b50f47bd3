# What the OpenFeature standard asks of any provider, in its own words, and what a flag is here.
# Run by test_python.py and test_web.py. Flags are experiments on a live server: flags.py.
Feature: The provider of devote

  Scenario Outline: A settled experiment is a flag with a fixed value
    Given a <type>-flag with key "<key>" and a default value "<default>"
    When the flag was evaluated with details
    Then the resolved details value should be "<value>"
    And the flag key should be "<key>"
    And the variant should be "<variant>"
    And the reason should be "STATIC"
    Examples:
      | type    | key          | default | value       | variant     |
      | Boolean | boolean-flag | false   | true        | true        |
      | Boolean | boolean-zero | true    | false       | false       |
      | String  | string-flag  | bye     | hi          | hi          |
      | String  | string-zero  | bye     |             | empty       |
      | Integer | integer-flag | 1       | 10          | 10          |
      | Integer | integer-zero | 1       | 0           | 0           |
      | Float   | float-flag   | 0.1     | 0.5         | 0.5         |
      | Float   | integer-zero | 0.1     | 0           | 0           |
      | Object  | object-flag  | {}      | {"tea": 1}  | {"tea": 1}  |
      | Object  | object-zero  | [1]     | {}          | {}          |

  Scenario Outline: An experiment that goes on is a flag whose users are divided
    Given a String-flag with key "open-flag" and a default value "neither"
    And a context containing a targeting key with value "<user>"
    When the flag was evaluated with details
    Then the resolved details value should be one of "left, right"
    And the variant should be the value
    And the reason should be "SPLIT"
    And the resolved metadata should name the experiment and the play
    Examples:
      | user |
      | ann  |
      | bob  |

  Scenario Outline: A flag that does not exist
    Given a <type>-flag with key "non-existent-flag" and a default value "<default>"
    When the flag was evaluated with details
    Then the resolved details value should be "<default>"
    And the reason should be "ERROR"
    And the error-code should be "FLAG_NOT_FOUND"
    Examples:
      | type    | default |
      | Boolean | false   |
      | String  | bye     |
      | Integer | 1       |
      | Float   | 0.1     |
      | Object  | {}      |

  Scenario Outline: A flag of another type
    Given a <type>-flag with key "<key>" and a default value "<default>"
    When the flag was evaluated with details
    Then the resolved details value should be "<default>"
    And the reason should be "ERROR"
    And the error-code should be "TYPE_MISMATCH"
    Examples:
      | type    | key          | default |
      | Boolean | string-flag  | false   |
      | Integer | string-flag  | 1       |
      | Object  | string-flag  | {}      |
      | Integer | boolean-flag | 7       |
      | String  | typed-flag   | bye     |

  Scenario Outline: A provider that is not ready, or never will be
    Given a <state> provider
    And a <type>-flag with key "<key>" and a default value "<default>"
    When the flag was evaluated with details
    Then the resolved details value should be "<default>"
    And the reason should be "ERROR"
    And the error-code should be "<code>"
    Examples:
      | state     | type    | key          | default | code               |
      | not ready | Boolean | boolean-flag | false   | PROVIDER_NOT_READY |
      | not ready | String  | string-flag  | bye     | PROVIDER_NOT_READY |
      | fatal     | Boolean | boolean-flag | false   | PROVIDER_FATAL     |
      | fatal     | Object  | object-flag  | {}      | PROVIDER_FATAL     |

  Scenario Outline: Events of the provider
    When a <event> handler is attached
    And a <state> provider is set
    Then the <event> handler must run
    And the provider status should be "<status>"
    Examples:
      | event          | state  | status |
      | PROVIDER_READY | stable | READY  |
      | PROVIDER_ERROR | error  | ERROR  |
      | PROVIDER_ERROR | fatal  | FATAL  |

  Scenario Outline: A tracked event is a reward
    Given a String-flag with key "<key>" and a default value "neither"
    And a context containing a targeting key with value "carol"
    When the flag was evaluated with details
    And an event was tracked with tracking event name "<event>" and value "<value>"
    Then the server should have the answer "<answer>"
    Examples:
      | key         | event    | value | answer |
      | clicked     | click    |       | 1      |
      | bought      | click    | 19.90 | 1      |
      | abandoned   | click    | 0     | 0      |
      | looked-at   | scrolled |       | 0      |
