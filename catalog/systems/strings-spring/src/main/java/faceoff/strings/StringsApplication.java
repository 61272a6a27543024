package faceoff.strings;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

/** The string service on Spring MVC. */
@SpringBootApplication
class StringsApplication {

    /** Refuses the number 5 as the text "5", which Jackson accepts by default. */
    @Bean
    JsonMapperBuilderCustomizer onlyTextsAreTexts() {
        return builder -> builder.withCoercionConfig(LogicalType.Textual, texts -> texts
                .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Float, CoercionAction.Fail));
    }

    public static void main(String[] args) {
        SpringApplication.run(StringsApplication.class, args);
    }
}
